import { createHash } from 'node:crypto'
import { createRemoteJWKSet, decodeJwt, decodeProtectedHeader, jwtVerify } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { canonicalJson } from '../../../core/action/spec.ts'
import { at } from '../routes/start.ts'
import { ALLOWED, bearer, DESTRUCTIVE, RISKY, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  agent = await world.agent()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

describe('an action that the policies allow', () => {
  test('is answered with a token that the published keys verify and that speaks of exactly this action', async () => {
    const answer = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body)).toEqual([
      'action_request_id',
      'status',
      'decision',
      'decision_token',
      'expires_at',
    ])
    expect(answer.body).toMatchObject({
      action_request_id: expect.stringMatching(/^act_\w{20}$/),
      status: 'allowed',
      decision: { outcome: 'allow', risk_score: 0.2, constraints: null },
    })
    expect(Object.keys(at(answer.body, 'decision'))).toEqual([
      'outcome',
      'reason',
      'matched_policies',
      'risk_score',
      'constraints',
    ])
    expect(at(answer.body, 'decision', 'matched_policies', 0)).toMatch(/^pol_\w+$/)
    const token = at(answer.body, 'decision_token')
    const keys = createRemoteJWKSet(new URL('/.well-known/jwks.json', world.plane.url))
    const { payload } = await jwtVerify(token, keys, { issuer: 'chaperone', audience: 'chaperone-gateway' })
    expect(decodeProtectedHeader(token)).toEqual({ alg: 'EdDSA', kid: expect.any(String), typ: 'JWT' })
    expect(payload).toMatchObject({
      sub: agent.id,
      org: expect.stringMatching(/^org_/),
      act: answer.body['action_request_id'],
      ash: createHash('sha256').update(canonicalJson(ALLOWED)).digest('hex'),
    })
    expect(Number(payload.exp) - Number(payload.iat)).toBe(300)
    expect(at(answer.body, 'expires_at')).toBe(new Date(Number(payload.exp) * 1_000).toISOString())
  })

  test('has its evidence chain, with the details that the specification names', async () => {
    const spec = { ...ALLOWED, risk_hints: { irreversible: false } }
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: spec })
    const rows = await world.sql<{ event_type: string; details: object; agent_id: string }>(
      'select event_type, details, agent_id from audit_events where action_request_id = $1 order by id',
      [body['action_request_id']],
    )
    expect(rows).toEqual([
      {
        event_type: 'action.requested',
        agent_id: agent.id,
        details: {
          action_type: 'codehost.issue.create',
          resource: { provider: 'codehost', target: 'acme/site', environment: 'development' },
          parameters: { title: 'hello' },
          risk_score: 20,
          risk_hints: { irreversible: false },
        },
      },
      {
        event_type: 'action.allowed',
        agent_id: agent.id,
        details: {
          decision: 'allow',
          reason: at(body, 'decision', 'reason'),
          matched_policy: at(body, 'decision', 'matched_policies', 0),
          matched_rule: 'safe',
          decision_token_kid: decodeProtectedHeader(at(body, 'decision_token')).kid,
          risk_score: 20,
        },
      },
    ])
  })

  test('reads back as it was sent, with the same token to the last byte, and no token rests in the database', async () => {
    const spec = { ...ALLOWED, zeta: 1, alpha: { nested: [1.5, null, 'ü'] } }
    const sent = await agent.call('POST', '/api/v1/actions', { action_spec: spec })
    const id = at(sent.body, 'action_request_id')
    const read = await agent.call('GET', `/api/v1/actions/${id}`)
    expect(read.status).toBe(200)
    expect(read.body).toEqual({
      action_request_id: id,
      status: 'allowed',
      action_spec: spec,
      decision: sent.body['decision'],
      decision_token: sent.body['decision_token'],
      expires_at: sent.body['expires_at'],
      approval: null,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    })
    expect(JSON.stringify(read.body['action_spec'])).toBe(JSON.stringify(spec))
    const signature = at(sent.body, 'decision_token').split('.')[2]
    const dumps = await Promise.all(
      ['action_requests', 'nonces', 'audit_events', 'idempotency_keys', 'outbox'].map((table) =>
        world.sql(`select t::text as row from ${table} t`),
      ),
    )
    expect(JSON.stringify(dumps)).not.toContain(signature)
  })
})

describe('other outcomes', () => {
  test('a denial is a 200 without a token', async () => {
    const { status, body } = await agent.call('POST', '/api/v1/actions', { action_spec: DESTRUCTIVE })
    expect(status).toBe(200)
    expect(body).toMatchObject({ status: 'denied', decision: { outcome: 'deny' }, decision_token: null })
    expect(body).not.toHaveProperty('expires_at')
    expect(body).not.toHaveProperty('approval')
    const id = at(body, 'action_request_id')
    expect(await world.chain(id)).toEqual(['action.requested', 'action.denied'])
    const [row] = await world.sql<{ details: object }>(
      "select details from audit_events where action_request_id = $1 and event_type = 'action.denied'",
      [id],
    )
    expect(Object.keys(row?.details ?? {}).sort()).toEqual(
      ['decision', 'matched_policy', 'matched_rule', 'reason', 'risk_score'].sort(),
    )
  })

  test('an action without a matching policy is denied, with that reason', async () => {
    const spec = { type: 'spaceship.door.open', resource: { provider: 'spaceship' } }
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: spec })
    expect(body).toMatchObject({
      status: 'denied',
      decision: { outcome: 'deny', reason: 'No policy matched', matched_policies: [] },
    })
  })

  test('risky work waits for a person', async () => {
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: RISKY })
    expect(body).toMatchObject({
      status: 'pending_approval',
      decision: { outcome: 'requires_approval' },
      decision_token: null,
      approval: {
        id: expect.stringMatching(/^apr_\w{20}$/),
        status: 'pending',
        required_approver_groups: [],
        expires_at: expect.any(String),
      },
    })
    expect(await world.chain(at(body, 'action_request_id'))).toEqual([
      'action.requested',
      'action.pending_approval',
    ])
    const read = await agent.call('GET', `/api/v1/actions/${at(body, 'action_request_id')}`)
    expect(read.body).toMatchObject({ status: 'pending_approval', approval: body['approval'] })
  })

  test('a policy that was made a moment ago already decides', async () => {
    const name = `latest-${Date.now()}`
    for (const decision of ['allow', 'deny', 'allow'] as const) {
      const policyYaml = `scope: { actions: ["fresh.thing.do"] }\nrules:\n  - { name: r, conditions: ['true'], decision: ${decision} }\n`
      const made = await world.admin('POST', '/api/dashboard/policies', { name, policyYaml, priority: 500 })
      expect(made.status, made.text).toBe(200)
      const { body } = await agent.call('POST', '/api/v1/actions', {
        action_spec: { type: 'fresh.thing.do', resource: { provider: 'fresh' } },
      })
      expect(at(body, 'decision', 'outcome')).toBe(decision)
      const dry = await agent.call('POST', '/api/v1/actions/dry-run', {
        action_spec: { type: 'fresh.thing.do', resource: { provider: 'fresh' } },
      })
      expect(at(dry.body, 'decision', 'outcome')).toBe(decision)
      await world.admin('DELETE', `/api/dashboard/policies?policy_id=${at(made.body, 'policy_id')}`)
    }
  })
})

describe('the dry run', () => {
  test('shows every policy and rule and leaves no trace', async () => {
    const count = async () =>
      world.sql(
        'select (select count(*) from action_requests) as a, (select count(*) from audit_events) as e',
      )
    const before = await count()
    const { status, body } = await agent.call('POST', '/api/v1/actions/dry-run', { action_spec: RISKY })
    expect(status).toBe(200)
    expect(Object.keys(body)).toEqual(['dry_run', 'decision', 'trace', 'policies_evaluated', 'agent'])
    expect(body).toMatchObject({
      dry_run: true,
      decision: {
        outcome: 'requires_approval',
        matched_rules: ['risky'],
        risk_factors: ['medium risk +0.5', 'production +0.1'],
        approver_groups: [],
        constraints: null,
      },
      policies_evaluated: 3,
      agent: { id: agent.id, environment: 'development' },
    })
    expect(body['trace']).toContainEqual({
      policy_id: expect.stringMatching(/^pol_/),
      policy_name: 'default-allow-safe',
      scope_matched: true,
      rules: [
        {
          rule_name: 'safe',
          conditions_matched: false,
          failed_condition: expect.stringContaining('risk'),
          decision: null,
        },
      ],
    })
    expect(await count()).toEqual(before)
  })
})

describe('agents among themselves', () => {
  test("cannot read each other's actions: 404, as for an action that never existed", async () => {
    const other = await world.agent()
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    const id = at(body, 'action_request_id')
    const unknown = await other.call('GET', '/api/v1/actions/act_nothing')
    const answers = [
      await other.call('GET', `/api/v1/actions/${id}`),
      await other.call('POST', `/api/v1/actions/${id}/cancel`),
      await other.call('POST', `/api/v1/actions/${id}/execute`, { decision_token: body['decision_token'] }),
    ]
    for (const answer of [...answers, unknown]) {
      expect(answer.status).toBe(404)
      expect(answer.body['error']).toBe('Action request not found')
    }
    expect((await agent.call('GET', `/api/v1/actions/${id}`)).body['status']).toBe('allowed')
  })

  test('a suspended agent is not authenticated', async () => {
    const other = await world.agent()
    await world.admin('PATCH', '/api/dashboard/agents', { agent_id: other.id, action: 'suspend' })
    expect((await other.call('POST', '/api/v1/actions', { action_spec: ALLOWED })).status).toBe(401)
  })
})

describe('what is wrong with a request is named by its path', () => {
  const cases: ReadonlyArray<readonly [string, unknown, string]> = [
    ['', {}, 'action_spec'],
    ['', { action_spec: { type: 'a.b.c', resource: {} } }, 'action_spec.resource.provider'],
    ['', { action_spec: { resource: { provider: 'x' } } }, 'action_spec.type'],
    [
      '',
      { action_spec: { ...ALLOWED, risk_hints: { irreversible: 'yes' } } },
      'action_spec.risk_hints.irreversible',
    ],
    ['', { action_spec: ALLOWED, webhook_url: 'ftp://x' }, 'webhook_url'],
    ['', { action_spec: ALLOWED, webhook_url: 'not a url' }, 'webhook_url'],
    ['/dry-run', { action_spec: { type: 'x' } }, 'action_spec.resource'],
    ['/batch', { actions: [] }, 'actions'],
    ['/batch', { actions: Array(21).fill({ action_spec: ALLOWED }) }, 'actions'],
    [
      '/batch',
      {
        actions: [0, 1, 2]
          .map(() => ({ action_spec: ALLOWED }))
          .concat({ action_spec: { resource: ALLOWED.resource } } as never),
      },
      'actions.3.action_spec.type',
    ],
  ]
  test.each(cases)('POST /api/v1/actions%s %j', async (path, sent, named) => {
    const caller = await world.agent()
    const answer = await caller.call('POST', `/api/v1/actions${path}`, sent)
    expect(answer.status).toBe(400)
    expect(answer.body['error']).toBe('Validation failed')
    expect(String(answer.body['details'])).toMatch(new RegExp(`(^|; )${named}: `))
    const [row] = await world.sql<{ n: string }>(
      'select count(*) as n from action_requests where agent_id = $1',
      [caller.id],
    )
    expect(row?.n).toBe('0')
  })

  test('a body that is no JSON is a 400', async () => {
    const caller = await world.agent()
    expect((await caller.call('POST', '/api/v1/actions', '{"action_spec":')).status).toBe(400)
  })
})

describe('a batch', () => {
  test('decides each item by itself, opens no approval, and counts as one request', async () => {
    const caller = await world.agent()
    const actions = [ALLOWED, DESTRUCTIVE, RISKY].map((action_spec) => ({ action_spec }))
    const { status, body } = await caller.call('POST', '/api/v1/actions/batch', { actions })
    expect(status).toBe(200)
    expect(body).toMatchObject({ batch_id: expect.stringMatching(/^batch_/), total: 3 })
    const results = body['results'] as Record<string, unknown>[]
    expect(
      results.map((r) => [r['status'], at(r, 'decision', 'outcome'), typeof r['decision_token']]),
    ).toEqual([
      ['allowed', 'allow', 'string'],
      ['denied', 'deny', 'object'],
      ['denied', 'requires_approval', 'object'],
    ])
    expect(at(results[2], 'decision', 'reason')).toContain('Submit this action by itself')
    expect(Object.keys(results[0] ?? {})).toEqual([
      'action_request_id',
      'status',
      'decision',
      'decision_token',
      'expires_at',
    ])
    expect(await world.chain(at(results[2], 'action_request_id'))).toEqual([
      'action.requested',
      'action.denied',
    ])
    const [row] = await world.sql<{ n: string }>('select count(*) as n from approvals where agent = $1', [
      caller.name,
    ])
    expect(row?.n).toBe('0')
  })
})

describe('Idempotency-Key', () => {
  test('gives the same answer to the same request, to the byte, and stores one action, however many come at once', async () => {
    const caller = await world.agent()
    const send = () =>
      caller.call('POST', '/api/v1/actions', { action_spec: ALLOWED }, { 'idempotency-key': 'order-1' })
    const answers = await Promise.all(Array.from({ length: 12 }, send))
    const texts = new Set(answers.map((answer) => answer.text))
    expect([...texts]).toHaveLength(1)
    expect(answers[0]?.body['status']).toBe('allowed')
    const [row] = await world.sql<{ n: string }>(
      'select count(*) as n from action_requests where agent_id = $1',
      [caller.id],
    )
    expect(row?.n).toBe('1')
  })

  test('with another body is a conflict, after a day it is free again, and it is each agent’s own', async () => {
    const [one, other] = [await world.agent(), await world.agent()]
    const headers = { 'idempotency-key': 'k' }
    const first = await one.call('POST', '/api/v1/actions', { action_spec: ALLOWED }, headers)
    const clash = await one.call('POST', '/api/v1/actions', { action_spec: RISKY }, headers)
    expect(clash.status).toBe(409)
    const theirs = await other.call('POST', '/api/v1/actions', { action_spec: RISKY }, headers)
    expect(theirs.body['status']).toBe('pending_approval')
    await world.sql(
      "update idempotency_keys set created_at = now() - interval '25 hours' where agent_id = $1",
      [one.id],
    )
    const again = await one.call('POST', '/api/v1/actions', { action_spec: RISKY }, headers)
    expect(again.status).toBe(200)
    expect(again.body['action_request_id']).not.toBe(first.body['action_request_id'])
  })

  test('of no use is refused', async () => {
    const answer = await agent.call(
      'POST',
      '/api/v1/actions',
      { action_spec: ALLOWED },
      { 'idempotency-key': 'x'.repeat(256) },
    )
    expect(answer.status).toBe(400)
    expect(answer.body['details']).toContain('Idempotency-Key')
  })
})

describe('cancelling', () => {
  test('withdraws what waits: its approval cannot be answered any more', async () => {
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: RISKY })
    const id = at(body, 'action_request_id')
    const answer = await agent.call('POST', `/api/v1/actions/${id}/cancel`)
    expect(answer.status).toBe(200)
    expect(answer.body).toEqual({ action_request_id: id, status: 'cancelled' })
    const approval = at(body, 'approval', 'id')
    expect(
      (await world.admin('POST', `/api/v1/approvals/${approval}/respond`, { decision: 'approve' })).status,
    ).toBe(409)
    expect((await agent.call('POST', `/api/v1/actions/${id}/cancel`)).status).toBe(409)
    expect(await world.chain(id)).toEqual(['action.requested', 'action.pending_approval', 'action.cancelled'])
  })

  test('invalidates the token of an allowed action', async () => {
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    const id = at(body, 'action_request_id')
    const token = at(body, 'decision_token')
    expect((await agent.call('POST', `/api/v1/actions/${id}/cancel`)).status).toBe(200)
    expect((await agent.call('GET', `/api/v1/actions/${id}`)).body).toMatchObject({
      status: 'cancelled',
      decision_token: null,
    })
    const verified = await world.plane.call('POST', '/api/v1/tokens/verify', {
      decision_token: token,
      action_request_id: id,
    })
    expect(verified.body).toEqual({ valid: false, error: 'Nonce already used' })
    const executed = await agent.call('POST', `/api/v1/actions/${id}/execute`, { decision_token: token })
    expect(executed.status).toBe(409)
  })

  test('is refused for what is decided otherwise', async () => {
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: DESTRUCTIVE })
    const answer = await agent.call('POST', `/api/v1/actions/${at(body, 'action_request_id')}/cancel`)
    expect(answer.status).toBe(409)
    expect(answer.body['error']).toContain('denied')
  })

  test('and using the token exclude each other, however they race', async () => {
    const outcomes = new Set<string>()
    const racer = await Promise.all(Array.from({ length: 3 }, () => world.agent()))
    for (const caller of racer) {
      for (let i = 0; i < 15; i++) {
        const { body } = await caller.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
        const id = at(body, 'action_request_id')
        const [cancelled, verified] = await Promise.all([
          caller.call('POST', `/api/v1/actions/${id}/cancel`),
          world.plane.call('POST', '/api/v1/tokens/verify', {
            decision_token: body['decision_token'],
            action_request_id: id,
          }),
        ])
        const isValid = verified.body['valid'] === true
        expect([isValid, cancelled.status]).toEqual(isValid ? [true, 409] : [false, 200])
        outcomes.add(String(isValid))
      }
    }
  })
})

describe('every answer', () => {
  test('carries a request id of ours and the version, errors too', async () => {
    const answers = [
      await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED }),
      await agent.call('POST', '/api/v1/actions', {}),
      await agent.call('GET', '/api/v1/actions/act_none'),
      await world.plane.call('POST', '/api/v1/actions', {}),
      await world.plane.call('POST', '/api/v1/tokens/verify', {
        decision_token: 'x',
        action_request_id: 'y',
      }),
      await world.plane.call('GET', '/.well-known/jwks.json'),
    ]
    for (const answer of answers) {
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
      expect(answer.headers.get('x-service-version')).toMatch(/^\d+\.\d+\.\d+$/)
    }
    expect(answers[3]?.status).toBe(401)
    expect(new Set(answers.map((answer) => answer.headers.get('x-request-id'))).size).toBe(answers.length)
  })

  test('to a wrong key is a 401 with an error', async () => {
    const answer = await world.plane.call(
      'POST',
      '/api/v1/actions',
      { action_spec: ALLOWED },
      bearer('svc_test_wrong'),
    )
    expect(answer.status).toBe(401)
    expect(typeof answer.body['error']).toBe('string')
    expect(() => decodeJwt(answer.text)).toThrow()
  })
})
