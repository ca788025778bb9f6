import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Answer, at, type Call, PASSWORD } from '../routes/start.ts'
import { ALLOWED, DESTRUCTIVE } from '../v1/world.ts'
import { type ContractWorld, startContractWorld } from './contract-world.ts'

let world: ContractWorld
beforeAll(async () => {
  world = await startContractWorld()
}, 120_000)
beforeEach(() => world.freshWindows())
afterAll(() => world?.[Symbol.asyncDispose](), 60_000)

/** One refusal: `error` to the letter; `extra` are further fields of the body that the specification or a ruling names. */
type Case = {
  readonly row: string
  readonly why: string
  readonly by: () => Call
  readonly given?: () => Promise<{ readonly path?: string; readonly body?: unknown }>
  readonly path?: string
  readonly body?: unknown
  readonly headers?: Record<string, string>
  readonly error: unknown
  readonly extra?: Record<string, unknown>
}

const agentKey = () => world.agent.call
const stranger = () => world.stranger.call
const admin = () => world.by.admin
const member = () => world.by.member
const viewer = () => world.by.viewer
const nobody = () => world.by.nobody
const on = (action: { id: string; token: string }, suffix: string) => ({
  path: `/api/v1/actions/${action.id}${suffix}`,
  body: { decision_token: action.token },
})
const answerOf = (action: { approval: string }) => ({
  path: `/api/v1/approvals/${action.approval}/respond`,
  body: { decision: 'approve' },
})
const invalid = (details: string | RegExp) => ({
  error: 'Validation failed',
  extra: { details: details instanceof RegExp ? expect.stringMatching(details) : details },
})
const actions = { row: 'POST /api/v1/actions', by: agentKey }
const resource = { provider: 'codehost' }

const BAD_REQUEST: readonly Case[] = [
  { ...actions, why: 'nothing', body: {}, ...invalid('action_spec: is required') },
  {
    ...{ ...actions, why: 'two fields missing', body: { action_spec: { resource: {} } } },
    ...invalid('action_spec.type: is required; action_spec.resource.provider: is required'),
  },
  {
    ...{ ...actions, why: 'a hint that is no boolean' },
    body: { action_spec: { type: 'a.b.c', resource, risk_hints: { irreversible: 'yes' } } },
    ...invalid(/^action_spec\.risk_hints\.irreversible: /),
  },
  {
    ...{ ...actions, why: 'a webhook_url of another kind' },
    body: { action_spec: ALLOWED, webhook_url: 'ftp://x.test/' },
    ...invalid('webhook_url: must be an http or https URL'),
  },
  { ...actions, why: 'no JSON', body: '{"action_spec":', ...invalid('body: is not valid JSON') },
  {
    ...{ row: 'POST /api/v1/actions/batch', why: '21 items', by: agentKey },
    body: { actions: Array(21).fill({ action_spec: ALLOWED }) },
    ...invalid(/^actions: /),
  },
  {
    ...{ row: 'POST /api/v1/actions/batch', why: 'none', by: agentKey, body: { actions: [] } },
    ...invalid(/^actions: /),
  },
  {
    ...{ row: 'POST /api/v1/actions/batch', why: 'one that is bad', by: agentKey },
    body: { actions: [{ action_spec: ALLOWED }, { action_spec: { resource } }] },
    ...invalid('actions.1.action_spec.type: is required'),
  },
  {
    ...{
      row: 'POST /api/v1/actions/dry-run',
      why: 'no type',
      by: agentKey,
      body: { action_spec: { resource } },
    },
    ...invalid('action_spec.type: is required'),
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: 'no token', by: agentKey },
    given: async () => ({ path: on(await world.allowed(), '/execute').path, body: {} }),
    ...invalid('decision_token: is required'),
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: 'codehost without a target', by: agentKey },
    given: async () => {
      const spec = {
        type: 'codehost.issue.create',
        resource: { provider: 'codehost' },
        parameters: { title: 'x' },
      }
      return on(await world.here.submit(world.agent, spec), '/execute')
    },
    ...invalid(/^action_spec\.resource\.target: is required to execute, as <owner>/),
  },
  {
    ...{ row: 'POST /api/v1/agents/register', why: 'nothing', by: agentKey, body: {} },
    ...invalid('name: is required; runtime: is required; environment: is required'),
  },
  ...(['limit=0', 'limit=501', 'offset=-1', 'limit=x'] as const).map((query) => ({
    ...{ row: 'GET /api/v1/audit/events', why: query, by: agentKey, path: `/api/v1/audit/events?${query}` },
    ...invalid(new RegExp(`^${query.split('=')[0]}: `)),
  })),
  {
    ...{ row: 'POST /api/v1/approvals/:id/respond', why: 'another word', by: member },
    given: async () => ({ ...answerOf(await world.pending()), body: { decision: 'maybe' } }),
    ...invalid(/^decision: /),
  },
  {
    ...{ row: 'POST /api/v1/org/kill-switch', why: 'nothing', by: agentKey, body: {} },
    ...invalid('active: is required'),
  },
  {
    ...{ row: 'POST /api/v1/tokens/verify', why: 'nothing', by: nobody, body: {} },
    ...invalid('decision_token: is required; action_request_id: is required'),
  },
  {
    ...{ row: 'POST /api/auth/register', why: 'a short password', by: nobody },
    body: { email: 'x@example.com', password: 'short', name: 'X' },
    ...invalid('password: must have at least 12 characters'),
  },
  {
    ...{ row: 'POST /api/dashboard/users', why: 'another action', by: admin, body: { action: 'promote' } },
    ...invalid(/^action: /),
  },
  {
    ...{
      row: 'PUT /api/dashboard/settings',
      why: 'an unknown key',
      by: admin,
      body: { settings: { colour: 'red' } },
    },
    ...invalid('settings.colour: is not a known field'),
  },
  {
    ...{ row: 'POST /api/dashboard/demo-action', why: 'scenario 3', by: viewer, body: { scenario: 3 } },
    ...invalid(/^scenario: /),
  },
  {
    ...{ row: 'GET /api/dashboard/test-gateway', why: 'an address that is not configured', by: viewer },
    path: '/api/dashboard/test-gateway?url=http://169.254.169.254/',
    ...invalid(/^url: /),
  },
  {
    ...{
      row: 'POST /api/dashboard/policies',
      why: 'no YAML',
      by: admin,
      body: { name: 'p', policyYaml: 'rules: [' },
    },
    ...invalid(/^policyYaml: line 1/),
  },
]

const V1_ROWS = [
  ...['POST /api/v1/actions', 'POST /api/v1/actions/batch', 'POST /api/v1/actions/dry-run'],
  ...['GET /api/v1/actions/act_x', 'POST /api/v1/actions/act_x/execute', 'POST /api/v1/actions/act_x/cancel'],
  ...['POST /api/v1/agents/register', 'GET /api/v1/policies', 'GET /api/v1/audit/events'],
]
const UNAUTHORIZED: readonly Case[] = [
  ...[...V1_ROWS, 'POST /api/v1/org/kill-switch', 'POST /api/v1/approvals/apr_x/respond'].flatMap((row) => [
    { row, why: 'without a key', by: nobody, body: bodyOf(row), error: 'Unauthorized' },
    {
      row,
      why: 'with a key of nobody',
      by: () => world.by.forgedKey,
      body: bodyOf(row),
      error: unlessApprover(row),
    },
  ]),
  { row: 'GET /api/dashboard/traffic', why: 'without a session', by: nobody, error: 'Unauthorized' },
  {
    row: 'GET /api/dashboard/traffic',
    why: 'with a forged one',
    by: () => world.by.forged,
    error: 'Unauthorized',
  },
  { row: 'POST /api/maintenance/cleanup', why: 'without the secret', by: nobody, error: 'Unauthorized' },
  { row: 'GET /api/metrics', why: 'without the secret', by: nobody, error: 'Unauthorized' },
  {
    row: 'GET /api/metrics',
    why: "with an owner's session",
    by: () => world.by.owner,
    error: 'Unauthorized',
  },
  {
    ...{ row: 'POST /api/auth/login', why: 'with a wrong password', by: nobody, error: 'Unauthorized' },
    body: { email: 'viewer@example.com', password: `${PASSWORD}!` },
  },
].filter(({ error }) => error !== null)

function bodyOf(row: string): unknown {
  return row.startsWith('GET') ? undefined : {}
}

/** What looks like an agent's key is told that agents do not answer approvals: that is a 403. */
function unlessApprover(row: string): string | null {
  return row.endsWith('/respond') ? null : 'Unauthorized'
}

const role = (required_role: string, your_role: string) => ({
  error: 'Forbidden',
  extra: { required_role, your_role },
})
const capability = (required_capability: string) => ({ error: 'Forbidden', extra: { required_capability } })
const FORBIDDEN: readonly Case[] = [
  { row: 'GET /api/dashboard/proxy-approvals', why: 'a viewer', by: viewer, ...role('member', 'viewer') },
  ...['gateway', 'agents', 'policies', 'settings', 'audit-export', 'export'].map((name) => ({
    ...{ row: `GET /api/dashboard/${name}`, why: 'a member', by: member },
    ...role('admin', 'member'),
  })),
  ...['POST gateway', 'POST agents', 'POST policies', 'POST setup', 'PUT settings', 'POST users'].map(
    (name) => ({
      ...{ row: name.replace(' ', ' /api/dashboard/'), why: 'a member', by: member, body: {} },
      ...role('admin', 'member'),
    }),
  ),
  { row: 'POST /api/dashboard/import', why: 'an admin', by: admin, body: {}, ...role('owner', 'admin') },
  {
    ...{
      row: 'POST /api/dashboard/users',
      why: 'an admin who makes an owner',
      by: admin,
      error: 'Forbidden',
      extra: { required_role: 'owner', your_role: 'admin' },
    },
    given: async () => ({ body: { action: 'change_role', user_id: world.ids.member, role: 'owner' } }),
  },
  {
    ...{
      row: 'POST /api/dashboard/users',
      why: 'an admin who suspends the owner',
      by: admin,
      error: 'Forbidden',
      extra: { required_role: 'owner', your_role: 'admin' },
    },
    given: async () => ({ body: { action: 'suspend', user_id: world.ids.owner } }),
  },
  {
    ...{
      row: 'POST /api/dashboard/users',
      why: 'an owner who steps down',
      by: () => world.by.owner,
      error: 'Forbidden',
      extra: { required_role: 'owner', your_role: 'owner' },
    },
    given: async () => ({ body: { action: 'change_role', user_id: world.ids.owner, role: 'admin' } }),
  },
  {
    ...{
      row: 'POST /api/v1/org/kill-switch',
      why: 'without the capability',
      by: stranger,
    },
    ...capability('org:kill_switch'),
    body: { active: false },
  },
  {
    ...{
      row: 'POST /api/v1/agents/register',
      why: 'without the capability',
      by: stranger,
    },
    ...capability('agents:register'),
    body: { name: 'x', runtime: 'x', environment: 'x' },
  },
  {
    ...{ row: 'POST /api/v1/approvals/:id/respond', why: 'an agent', by: agentKey, error: 'Forbidden' },
    given: async () => answerOf(await world.pending()),
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: 'a token of another action', by: agentKey },
    given: async () => ({
      ...on(await world.allowed(), '/execute'),
      body: { decision_token: (await world.allowed()).token },
    }),
    error: 'Token verification failed: action mismatch',
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: 'a forged token', by: agentKey },
    given: async () => {
      const action = await world.allowed()
      const [head, body] = action.token.split('.')
      return on({ ...action, token: `${head}.${body}.${'A'.repeat(86)}` }, '/execute')
    },
    error: 'Token verification failed: invalid signature',
  },
]

const notFound = { error: 'Action request not found' }
const NOT_FOUND: readonly Case[] = [
  { row: 'GET /api/v1/actions/act_nothing', why: 'no such action', by: agentKey, ...notFound },
  {
    ...{ row: 'GET /api/v1/actions/:id', why: "another agent's", by: stranger, ...notFound },
    given: async () => ({ path: on(await world.allowed(), '').path }),
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: "another agent's", by: stranger, ...notFound },
    given: async () => on(await world.allowed(), '/execute'),
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/cancel', why: "another agent's", by: stranger, ...notFound },
    given: async () => ({ path: on(await world.allowed(), '/cancel').path }),
  },
  {
    ...{ row: 'POST /api/v1/approvals/apr_nothing/respond', why: 'no such approval', by: member },
    ...{ body: { decision: 'approve' }, error: 'Approval not found' },
  },
  {
    ...{
      row: 'PATCH /api/dashboard/agents',
      why: 'no such agent',
      by: admin,
      error: expect.stringMatching(/not found/i),
    },
    body: { agent_id: 'agent_nothing', action: 'suspend' },
  },
  {
    ...{
      row: 'PATCH /api/dashboard/policies',
      why: 'no such policy',
      by: admin,
      error: expect.stringMatching(/not found/i),
    },
    body: { policy_id: 'pol_nothing', enabled: false },
  },
  {
    ...{
      row: 'PATCH /api/dashboard/gateway',
      why: 'no such gateway',
      by: admin,
      error: expect.stringMatching(/not found/i),
    },
    body: { gateway_id: 'gw_nothing', enforcementLevel: 'monitor' },
  },
  {
    ...{
      row: 'POST /api/dashboard/users',
      why: 'no such user',
      by: admin,
      error: expect.stringMatching(/not found/i),
    },
    body: { user_id: 'usr_nothing', action: 'suspend' },
  },
  { row: 'GET /api/v1/nothing', why: 'no such route', by: nobody, error: 'Not found' },
]

const CONFLICT: readonly Case[] = [
  {
    ...{ row: 'POST /api/v1/approvals/:id/respond', why: 'answered already', by: member },
    given: async () => {
      const given = answerOf(await world.pending())
      await world.by.admin('POST', given.path, given.body)
      return given
    },
    error: 'Approval already resolved',
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: 'used already', by: agentKey },
    given: async () => {
      const action = await world.allowed()
      const body = { decision_token: action.token, action_request_id: action.id }
      await world.by.nobody('POST', '/api/v1/tokens/verify', body)
      return on(action, '/execute')
    },
    error: 'Token verification failed: nonce already used',
  },
  {
    ...{
      row: 'POST /api/v1/actions/:id/cancel',
      why: 'denied',
      by: agentKey,
      error: expect.stringMatching(/./),
    },
    given: async () => {
      const { body } = await world.agent.call('POST', '/api/v1/actions', { action_spec: DESTRUCTIVE })
      return { path: `/api/v1/actions/${at(body, 'action_request_id')}/cancel` }
    },
  },
  {
    ...{ row: 'POST /api/v1/actions', why: 'an Idempotency-Key with another body', by: agentKey },
    headers: { 'idempotency-key': 'contract-1' },
    given: async () => {
      const first = { action_spec: ALLOWED }
      await world.agent.call('POST', '/api/v1/actions', first, { 'idempotency-key': 'contract-1' })
      return { body: { action_spec: { ...ALLOWED, parameters: { title: 'other' } } } }
    },
    error: expect.stringMatching(/Idempotency-Key/),
  },
  {
    ...{
      row: 'POST /api/v1/agents/register',
      why: 'a taken name',
      by: agentKey,
      error: expect.stringMatching(/./),
    },
    given: async () => ({ body: { name: world.stranger.name, runtime: 'x', environment: 'staging' } }),
  },
  {
    ...{
      row: 'POST /api/auth/register',
      why: 'a taken address',
      by: nobody,
      error: expect.stringMatching(/./),
    },
    body: { email: 'owner@example.com', password: PASSWORD, name: 'X' },
  },
  {
    ...{
      row: 'PATCH /api/dashboard/policies',
      why: 'another version',
      by: admin,
      error: expect.stringMatching(/./),
    },
    given: async () => {
      const { body } = await world.by.admin('GET', '/api/dashboard/policies')
      const policyYaml = at(body, 'policies', 0, 'policyYaml')
      return { body: { policy_id: at(body, 'policies', 0, 'id'), policyYaml, expected_version: 99 } }
    },
    extra: { version: 1 },
  },
  {
    ...{
      row: 'PATCH /api/dashboard/agents',
      why: 'activating a revoked one',
      by: admin,
      error: expect.stringMatching(/./),
    },
    given: async () => {
      const { id: agent_id } = await world.here.world.agent()
      await world.by.admin('PATCH', '/api/dashboard/agents', { agent_id, action: 'revoke' })
      return { body: { agent_id, action: 'activate' } }
    },
  },
]

const GONE: readonly Case[] = [
  {
    ...{
      row: 'POST /api/v1/approvals/:id/respond',
      why: 'after five minutes',
      by: member,
      error: 'Approval expired',
    },
    given: async () => answerOf(await world.overdue()),
  },
  {
    ...{
      row: 'POST /api/dashboard/proxy-approvals',
      why: 'after five minutes',
      by: member,
      error: 'Approval expired',
    },
    given: async () => ({ body: { id: (await world.overdue()).approval, approved: true } }),
  },
  {
    ...{ row: 'POST /api/v1/actions/:id/execute', why: 'with a token out of time', by: agentKey },
    given: async () => on(await world.stale(), '/execute'),
    error: 'Token verification failed: token expired',
  },
]

describe.each([
  [400, BAD_REQUEST],
  [401, UNAUTHORIZED],
  [403, FORBIDDEN],
  [404, NOT_FOUND],
  [409, CONFLICT],
  [410, GONE],
] as const)('%d', (status, cases) => {
  test.each(cases.map((one) => [one.row, one.why, one] as const))('%s: %s', async (_row, _why, one) => {
    const given = (await one.given?.()) ?? {}
    const [method = '', path = ''] = one.row.split(' ')
    const before = world.here.upstream.seen.length
    const answer = await one.by()(method, given.path ?? one.path ?? path, given.body ?? one.body, one.headers)
    expect(answer.status, answer.text).toBe(status)
    expectError(answer, one)
    expect(world.here.upstream.seen.length).toBe(before)
  })
})

/** An error body has `error`, our `message`, and what the specification names; nothing else. */
function expectError(answer: Answer, { error, extra = {} }: Pick<Case, 'error' | 'extra'>): void {
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.headers.get('x-request-id')).toMatch(/^req_\w{10,}$/)
  expect(answer.headers.get('x-service-version')).toMatch(/^\d+\.\d+\.\d+$/)
  expect(answer.body).toEqual({ error, message: expect.stringMatching(/./), ...extra })
}

describe('429', () => {
  test('the 61st request of an agent within a minute, in exactly these words', async () => {
    const { call } = await world.here.world.agent()
    const answers = await Promise.all(Array.from({ length: 61 }, () => call('GET', '/api/v1/policies')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    const [{ headers, body }] = refused as [Answer]
    const wait = Number(headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    expect(body).toEqual({ error: 'Rate limit exceeded', retry_after: wait })
    expect(headers.get('x-request-id')).toMatch(/^req_/)
  })
})

describe('503', () => {
  test('GET /api/health: a configured gateway that is not there', async () => {
    const settings = (gateway_url: string) =>
      world.by.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url } })
    const silent: Server = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    await settings(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    try {
      const answer = await nobody()('GET', '/api/health')
      expect(answer.status).toBe(503)
      expect(answer.body).toEqual({
        status: 'degraded',
        timestamp: expect.any(String),
        checks: {
          database: { status: 'ok', latencyMs: expect.any(Number) },
          gateway: { status: 'error', latencyMs: expect.any(Number), error: 'Timeout' },
        },
      })
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    } finally {
      await settings('')
      silent.closeAllConnections()
      silent.close()
    }
  })

  test('POST /api/v1/actions/:id/execute: no gateway, and the token stays good', async () => {
    const action = await world.allowed()
    const { path, body } = on(action, '/execute')
    const isLive = async () =>
      at((await world.by.admin('GET', '/api/dashboard/gateway')).body, 'gateways', 0, 'live') !== null
    world.here.gateway.cut()
    await eventually('the gateway is gone', async () => ((await isLive()) ? null : true))
    const answer = await world.agent.call('POST', path, body)
    expect(answer.status).toBe(503)
    expectError(answer, { error: at(answer.body, 'error'), extra: extraOf(answer) })
    const read = await world.agent.call('GET', `/api/v1/actions/${action.id}`)
    expect(read.body).toMatchObject({ status: 'allowed', decision_token: action.token })
    world.here.gateway.mend()
    await eventually('the gateway is back', async () => ((await isLive()) ? true : null), 25_000)
    expect((await world.agent.call('POST', path, body)).status).not.toBe(503)
  })
})

/** 503 says when to come back. */
function extraOf({ headers, body }: Answer): Record<string, unknown> {
  const retry = headers.get('retry-after')
  return retry === null ? {} : { retry_after: body['retry_after'] }
}

describe('a kill switch', () => {
  test('denies new actions with its reason, refuses execute and verify, and leaves the nonce alone', async () => {
    const action = await world.allowed()
    await world.agent.call('POST', '/api/v1/org/kill-switch', { active: true, reason: 'drill' })
    try {
      const { body } = await world.stranger.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
      expect(body).toMatchObject({ status: 'denied', decision: { outcome: 'deny' }, decision_token: null })
      expect(at(body, 'decision', 'reason')).toMatch(/^Kill switch active: drill/)
      const { path, body: token } = on(action, '/execute')
      const execute = await world.agent.call('POST', path, token)
      expect([execute.status, at<string>(execute.body, 'error').slice(0, 25)]).toEqual([
        403,
        'Kill switch active: drill',
      ])
      const verify = { decision_token: action.token, action_request_id: action.id }
      const verified = await nobody()('POST', '/api/v1/tokens/verify', verify)
      expect(verified.status).toBe(200)
      expect(verified.body).toEqual({
        valid: false,
        error: expect.stringMatching(/^Kill switch active: drill/),
      })
    } finally {
      await world.agent.call('POST', '/api/v1/org/kill-switch', { active: false })
    }
    const verify = { decision_token: action.token, action_request_id: action.id }
    expect((await nobody()('POST', '/api/v1/tokens/verify', verify)).body['valid']).toBe(true)
  })
})
