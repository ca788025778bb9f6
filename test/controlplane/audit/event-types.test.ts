import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replyCut, replyJson } from '../../support/recorder.ts'
import { at, type Call, PASSWORD, register } from '../routes/start.ts'
import { type ExecutionWorld, startExecutionWorld } from '../v1/execution-world.ts'
import { ALLOWED, DESTRUCTIVE, RISKY, type TestAgent } from '../v1/world.ts'

/** One row of the audit log, without what every row has. */
type Row = {
  readonly event_type: string
  readonly agent_id: string | null
  readonly user_id: string | null
  readonly action_request_id: string | null
  readonly details: Record<string, unknown>
}

let here: ExecutionWorld
let agent: TestAgent
let owner: Call
let ownerId: string

beforeAll(async () => {
  here = await startExecutionWorld()
  const { plane } = here.world
  ownerId = at((await register(plane.call, 'owner@example.com')).body, 'user', 'id')
  owner = await plane.signIn('owner@example.com')
  agent = await here.world.agent({ capabilities: ['org:kill_switch', 'agents:register'] })
})
afterAll(() => here?.[Symbol.asyncDispose]())

const seen = new Set<string>()

/** What is done, and the rows that it leaves: all of them, in their order. */
async function rowsOf<T>(
  work: () => Promise<T>,
): Promise<{ readonly done: T; readonly rows: readonly Row[] }> {
  const last = await newest()
  const done = await work()
  const rows = await here.world.sql<Row & { id: string; org_id: string; created_at: Date }>(
    'select * from audit_events where id > $1 order by id',
    [last],
  )
  for (const { org_id, created_at, event_type } of rows) {
    expect(org_id).toMatch(/^org_/)
    expect(Math.abs(Date.now() - created_at.getTime())).toBeLessThan(60_000)
    seen.add(event_type)
  }
  return {
    done,
    rows: rows.map(({ event_type, agent_id, user_id, action_request_id, details }) => ({
      ...{ event_type, agent_id, user_id, action_request_id, details },
    })),
  }
}

async function newest(): Promise<string> {
  const [row] = await here.world.sql<{ id: string }>('select coalesce(max(id), 0) as id from audit_events')
  return row?.id ?? '0'
}

async function must(call: Call, method: string, path: string, body?: unknown) {
  const answer = await call(method, path, body)
  expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(200)
  return answer.body
}

const submit = (action_spec: object, call = agent.call) =>
  must(call, 'POST', '/api/v1/actions', { action_spec })
const ofAgent = (action_request_id: string | null, user_id: string | null = null) => ({
  agent_id: agent.id,
  user_id,
  action_request_id,
})
const byOwner = () => ({ agent_id: null, user_id: ownerId, action_request_id: null })
const requested = (spec: typeof ALLOWED, risk_score: number) => ({
  action_type: spec.type,
  resource: {
    provider: 'codehost',
    target: 'acme/site',
    environment: at(spec, 'resource', 'environment') ?? 'development',
  },
  parameters: spec.parameters,
  risk_score,
  risk_hints: {},
})
const PERCENT = expect.toSatisfy(
  (value) => Number.isInteger(value) && value >= 0 && value <= 100,
  'a percentage',
)
const POLICY_ID = expect.stringMatching(/^pol_/)
const TEXT = expect.stringMatching(/./)
const riskOf = (body: Record<string, unknown>) => Math.round(at<number>(body, 'decision', 'risk_score') * 100)

describe('actions', () => {
  test('action.requested and action.allowed', async () => {
    const spec = { ...ALLOWED, risk_hints: { irreversible: false } }
    const { done, rows } = await rowsOf(() => submit(spec))
    const who = ofAgent(at(done, 'action_request_id'))
    const { keys } = (await (await fetch(`${here.world.plane.url}/.well-known/jwks.json`)).json()) as {
      keys: { kid: string }[]
    }
    expect(rows).toEqual([
      {
        ...{ event_type: 'action.requested', ...who },
        details: { ...requested(spec, riskOf(done)), risk_hints: { irreversible: false } },
      },
      {
        ...{ event_type: 'action.allowed', ...who },
        details: {
          decision: 'allow',
          reason: at(done, 'decision', 'reason'),
          matched_policy: POLICY_ID,
          matched_rule: TEXT,
          decision_token_kid: keys[0]?.kid,
          risk_score: riskOf(done),
        },
      },
    ])
    expect(rows[1]?.details['matched_policy']).toBe(at(done, 'decision', 'matched_policies', 0))
    expect(rows[0]?.details['risk_score']).toEqual(PERCENT)
  })

  test('action.requested and action.denied', async () => {
    const { done, rows } = await rowsOf(() => submit(DESTRUCTIVE))
    const who = ofAgent(at(done, 'action_request_id'))
    expect(rows).toEqual([
      {
        ...{ event_type: 'action.requested', ...who },
        // The agent stated none; the catalogue knows this one.
        details: { ...requested(DESTRUCTIVE as never, riskOf(done)), risk_hints: { irreversible: true } },
      },
      {
        ...{ event_type: 'action.denied', ...who },
        details: {
          decision: 'deny',
          reason: at(done, 'decision', 'reason'),
          matched_policy: at(done, 'decision', 'matched_policies', 0),
          matched_rule: TEXT,
          risk_score: riskOf(done),
        },
      },
    ])
    expect(rows[1]?.details['matched_policy']).toEqual(POLICY_ID)
  })

  test('action.requested and action.pending_approval', async () => {
    const { done, rows } = await rowsOf(() => submit(RISKY))
    const who = ofAgent(at(done, 'action_request_id'))
    expect(rows).toMatchObject([
      { event_type: 'action.requested', ...who, details: requested(RISKY as never, riskOf(done)) },
      {
        ...{ event_type: 'action.pending_approval', ...who },
        details: {
          decision: 'requires_approval',
          reason: at(done, 'decision', 'reason'),
          matched_policy: POLICY_ID,
          matched_rule: TEXT,
          risk_score: riskOf(done),
          approval_id: at(done, 'approval', 'id'),
        },
      },
    ])
  })

  test('each item of a batch has a pair of its own, also one that would need a person', async () => {
    const actions = [ALLOWED, RISKY, DESTRUCTIVE].map((action_spec) => ({ action_spec }))
    const { done, rows } = await rowsOf(() => must(agent.call, 'POST', '/api/v1/actions/batch', { actions }))
    const chains = at<Record<string, string>[]>(done, 'results').map(({ action_request_id }) =>
      rows.filter((row) => row.action_request_id === action_request_id).map((row) => row.event_type),
    )
    expect(chains).toEqual([
      ['action.requested', 'action.allowed'],
      ['action.requested', 'action.denied'],
      ['action.requested', 'action.denied'],
    ])
    expect(rows).toHaveLength(6)
  })

  test('none for a dry run and none for a token that is looked at', async () => {
    const { done } = await rowsOf(() => submit(ALLOWED))
    const { decision_token, action_request_id } = done
    const { rows } = await rowsOf(async () => {
      await must(agent.call, 'POST', '/api/v1/actions/dry-run', { action_spec: RISKY })
      await must(here.world.plane.call, 'POST', '/api/v1/tokens/verify', {
        decision_token,
        action_request_id,
      })
    })
    expect(rows).toEqual([])
  })

  test('action.executed', async () => {
    here.upstream.answerWith(replyJson({ number: 1 }, 201))
    const { done: action } = await rowsOf(() => here.submit(agent, ALLOWED))
    const { done, rows } = await rowsOf(() => here.execute(agent, action))
    expect(done.status, done.text).toBe(200)
    expect(rows).toMatchObject([
      {
        ...{ event_type: 'action.executed', ...ofAgent(action.id) },
        details: { action_type: ALLOWED.type, status: 201, gateway_id: expect.stringMatching(/^gw_/) },
      },
    ])
  })

  test('action.execution_failed', async () => {
    here.upstream.answerWith(replyCut())
    const { done: action } = await rowsOf(() => here.submit(agent, ALLOWED))
    const { done, rows } = await rowsOf(() => here.execute(agent, action))
    here.upstream.answerWith(replyJson({}, 200))
    expect(done.status, done.text).toBe(502)
    expect(rows).toMatchObject([
      {
        ...{ event_type: 'action.execution_failed', ...ofAgent(action.id) },
        details: { action_type: ALLOWED.type, error: TEXT },
      },
    ])
  })

  test('action.cancelled, of one that waits and of one that is allowed', async () => {
    for (const [spec, previous_status] of [
      [RISKY, 'pending_approval'],
      [ALLOWED, 'allowed'],
    ] as const) {
      const { done } = await rowsOf(() => here.submit(agent, spec))
      const { rows } = await rowsOf(() => must(agent.call, 'POST', `/api/v1/actions/${done.id}/cancel`))
      expect(rows).toEqual([
        {
          ...{ event_type: 'action.cancelled', ...ofAgent(done.id) },
          details: { action_type: spec.type, previous_status },
        },
      ])
    }
  })
})

describe('approvals', () => {
  test.each([
    ['approve', true],
    ['deny', false],
  ])('approval.responded with %s', async (decision, approved) => {
    const { done } = await rowsOf(() => here.submit(agent, RISKY))
    const path = `/api/v1/approvals/${done.approval}/respond`
    const { rows } = await rowsOf(() => must(owner, 'POST', path, { decision, reason: 'I looked' }))
    expect(rows).toMatchObject([
      {
        ...{ event_type: 'approval.responded', ...ofAgent(done.id, ownerId) },
        details: { approved, responded_by: 'owner@example.com', note: 'I looked' },
      },
    ])
    const took = rows[0]?.details['response_time_seconds']
    expect(typeof took === 'number' && took >= 0 && took < 60).toBe(true)
    const again = await rowsOf(() => owner('POST', path, { decision, reason: 'again' }))
    expect([again.done.status, again.rows]).toEqual([409, []])
  })

  test('approval.expired', async () => {
    const { done } = await rowsOf(() => here.submit(agent, RISKY))
    const { rows } = await rowsOf(async () => {
      await here.world.sql(
        "update approvals set expires_at = clock_timestamp() - interval '1 s' where id = $1",
        [done.approval],
      )
      await eventually('it is expired', async () => {
        const [row] = await here.world.sql<{ status: string }>('select status from approvals where id = $1', [
          done.approval,
        ])
        return row?.status === 'expired' ? true : null
      })
    })
    expect(rows).toMatchObject([
      {
        ...{ event_type: 'approval.expired', ...ofAgent(done.id) },
        details: { approval_id: done.approval, action_type: RISKY.type },
      },
    ])
  })
})

describe('the kill switch', () => {
  test('kill_switch.activated and .deactivated, by a person and by an agent', async () => {
    const dashboard = '/api/dashboard/kill-switch'
    const scope = 'agent:nobody'
    const on = await rowsOf(() => must(owner, 'POST', dashboard, { active: true, reason: 'drill', scope }))
    expect(on.rows).toMatchObject([
      {
        ...{ event_type: 'kill_switch.activated', ...byOwner() },
        details: { scope, activated_by: 'owner@example.com', reason: 'drill' },
      },
    ])
    const twice = await rowsOf(() => must(owner, 'POST', dashboard, { active: true, reason: 'drill', scope }))
    expect(twice.rows).toEqual([])
    const off = await rowsOf(() => must(owner, 'POST', dashboard, { active: false, scope }))
    expect(off.rows).toMatchObject([
      {
        event_type: 'kill_switch.deactivated',
        ...byOwner(),
        details: { scope, deactivated_by: 'owner@example.com' },
      },
    ])
    const v1 = '/api/v1/org/kill-switch'
    await must(agent.call, 'POST', '/api/v1/actions', { action_spec: RISKY })
    const activation = await rowsOf(() => must(agent.call, 'POST', v1, { active: true, reason: 'too much' }))
    const [activated, ...cancelled] = activation.rows
    expect(activated).toMatchObject({
      ...{ event_type: 'kill_switch.activated', ...ofAgent(null) },
      details: { scope: 'all', activated_by: agent.name, reason: 'too much' },
    })
    // Approvals that earlier tests left open are cancelled as well.
    expect(cancelled).not.toEqual([])
    for (const event of cancelled)
      expect(event).toMatchObject({
        event_type: 'action.cancelled',
        details: { scope: 'all', cancelled_by: agent.name, reason: 'Kill switch active: too much' },
      })
    const lift = await rowsOf(() => must(owner, 'POST', dashboard, { active: false }))
    expect(lift.rows).toMatchObject([
      { event_type: 'kill_switch.deactivated', ...byOwner(), details: { scope: 'all', override: true } },
    ])
  })
})

describe('agents, policies, gateways', () => {
  test('agent.registered by a person and by an agent, .suspended, .activated, .revoked', async () => {
    const body = { name: 'fresh', runtime: 'x', environment: 'staging' }
    const made = await rowsOf(() => must(owner, 'POST', '/api/dashboard/agents', body))
    const agent_id = at(made.done, 'agent_id')
    const who = { agent_id, user_id: ownerId, action_request_id: null }
    expect(made.rows).toMatchObject([{ event_type: 'agent.registered', ...who, details: body }])
    expect(JSON.stringify(made.rows)).not.toContain(at(made.done, 'api_key'))
    for (const [action, event_type] of [
      ['suspend', 'agent.suspended'],
      ['activate', 'agent.activated'],
      ['revoke', 'agent.revoked'],
    ]) {
      const change = { agent_id, action }
      const { rows } = await rowsOf(() => must(owner, 'PATCH', '/api/dashboard/agents', change))
      expect(rows).toMatchObject([{ event_type, ...who, details: { name: 'fresh' } }])
    }
    const second = { ...body, name: 'made-by-agent' }
    const byAgent = await rowsOf(() => must(agent.call, 'POST', '/api/v1/agents/register', second))
    expect(byAgent.rows).toMatchObject([
      {
        ...{ event_type: 'agent.registered', agent_id: at(byAgent.done, 'agent_id'), user_id: null },
        details: { ...second, by: agent.name },
      },
    ])
  })

  test('policy.created, .updated, .disabled, .enabled, .deleted', async () => {
    const path = '/api/dashboard/policies'
    const policyYaml = 'rules: [{ name: a, decision: deny }]\nscope: { actions: [x.y.z] }\n'
    const made = await rowsOf(() => must(owner, 'POST', path, { name: 'p', policyYaml }))
    const policy_id = at(made.done, 'policy_id')
    const details = { policy_id, name: 'p' }
    expect(made.rows).toMatchObject([{ event_type: 'policy.created', ...byOwner(), details }])
    for (const [change, event_type] of [
      [{ policyYaml: `${policyYaml}# more\n` }, 'policy.updated'],
      [{ enabled: false }, 'policy.disabled'],
      [{ enabled: true }, 'policy.enabled'],
    ] as const) {
      const { rows } = await rowsOf(() => must(owner, 'PATCH', path, { policy_id, ...change }))
      expect(rows).toMatchObject([{ event_type, ...byOwner(), details }])
    }
    const gone = await rowsOf(() => must(owner, 'DELETE', `${path}?policy_id=${policy_id}`))
    expect(gone.rows).toMatchObject([{ event_type: 'policy.deleted', ...byOwner(), details }])
  })

  test('gateway.created and .updated', async () => {
    const path = '/api/dashboard/gateway'
    const made = await rowsOf(() => must(owner, 'POST', path, { gateway: { name: 'edge' } }))
    const gateway_id = at(made.done, 'gateway_id')
    expect(made.rows).toMatchObject([
      { event_type: 'gateway.created', ...byOwner(), details: { gateway: 'edge', level: 'full_enforce' } },
    ])
    const level = { gateway_id, enforcementLevel: 'monitor', reason: 'trial' }
    const { rows } = await rowsOf(() => must(owner, 'PATCH', path, level))
    expect(rows).toMatchObject([
      {
        ...{ event_type: 'gateway.updated', ...byOwner() },
        details: {
          gateway: 'edge',
          change: 'enforcement',
          level: 'monitor',
          previous: 'full_enforce',
          reason: 'trial',
        },
      },
    ])
    expect((await rowsOf(() => must(owner, 'PATCH', path, level))).rows).toEqual([])
  })
})

describe('users and configuration', () => {
  test('user.registered, .login, .role_changed, .suspended, .activated, .logout', async () => {
    const { plane } = here.world
    const email = 'new@example.com'
    const made = await rowsOf(() => register(plane.call, email))
    const user_id = at(made.done.body, 'user', 'id')
    const self = { agent_id: null, user_id, action_request_id: null }
    expect(made.rows).toEqual([
      { event_type: 'user.registered', ...self, details: { email, role: 'viewer' } },
    ])
    const users = '/api/dashboard/users'
    const role = await rowsOf(() =>
      must(owner, 'POST', users, { action: 'change_role', user_id, role: 'member' }),
    )
    expect(role.rows).toMatchObject([
      {
        event_type: 'user.role_changed',
        ...byOwner(),
        details: { user_id, email, from: 'viewer', to: 'member' },
      },
    ])
    for (const [action, event_type] of [
      ['suspend', 'user.suspended'],
      ['activate', 'user.activated'],
    ]) {
      const { rows } = await rowsOf(() => must(owner, 'POST', users, { action, user_id }))
      expect(rows).toMatchObject([{ event_type, ...byOwner(), details: { user_id, email } }])
    }
    const login = await rowsOf(() => plane.signIn(email))
    expect(login.rows).toEqual([{ event_type: 'user.login', ...self, details: { email } }])
    const logout = await rowsOf(() => must(login.done, 'POST', '/api/auth/logout'))
    expect(logout.rows).toEqual([{ event_type: 'user.logout', ...self, details: { email } }])
    const wrong = { email, password: `${PASSWORD}!` }
    const failed = await rowsOf(() => plane.call('POST', '/api/auth/login', wrong))
    expect(failed.done.status).toBe(401)
    expect(failed.rows).toMatchObject([{ event_type: 'user.login_failed', details: { email } }])
  })

  test('config.exported and .imported', async () => {
    const out = await rowsOf(() => must(owner, 'GET', '/api/dashboard/export'))
    expect(out.rows).toMatchObject([{ event_type: 'config.exported', ...byOwner() }])
    const bundle = {
      ...out.done,
      agents: [{ name: 'imported', runtime: 'x', environment: 'staging', capabilities: [], metadata: {} }],
      policies: [],
    }
    const back = await rowsOf(() => must(owner, 'POST', '/api/dashboard/import', bundle))
    expect(back.rows.map((row) => [row.event_type, row.user_id])).toEqual([
      ['agent.registered', ownerId],
      ['config.imported', ownerId],
    ])
    expect(back.rows.at(-1)?.details).toMatchObject({ policies: 0, agents: 1 })
  })
})

test('every event type of the specification was among these', () => {
  const missing = SPECIFIED.filter((type) => !seen.has(type))
  expect(missing).toEqual([])
})

const SPECIFIED = [
  ...['requested', 'allowed', 'denied', 'pending_approval', 'executed', 'execution_failed'].map(
    (t) => `action.${t}`,
  ),
  ...['approval.responded', 'approval.expired', 'kill_switch.activated', 'kill_switch.deactivated'],
  ...['registered', 'suspended', 'activated', 'revoked'].map((t) => `agent.${t}`),
  ...['created', 'updated', 'deleted', 'enabled', 'disabled'].map((t) => `policy.${t}`),
  ...['gateway.created', 'gateway.updated'],
  ...['login', 'logout', 'registered', 'role_changed', 'suspended', 'activated'].map((t) => `user.${t}`),
  ...['config.exported', 'config.imported'],
]
