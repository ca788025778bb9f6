import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replyJson } from '../../support/recorder.ts'
import { type Answer, at, type Call, caller, PASSWORD } from '../routes/start.ts'
import { ALLOWED, DESTRUCTIVE, ENROL_TOKEN, RISKY } from '../v1/world.ts'
import { type ContractWorld, startContractWorld } from './contract-world.ts'

let world: ContractWorld
let version: string
beforeAll(async () => {
  world = await startContractWorld()
  world.here.upstream.answerWith(replyJson({ number: 3 }, 201))
  version = (JSON.parse(await readFile('package.json', 'utf8')) as { version: string }).version
}, 120_000)
beforeEach(() => world.freshWindows())
afterAll(() => world?.[Symbol.asyncDispose](), 60_000)

/** A row of specification 4.3 or 4.4: how it is called, and all of what it answers with 200. */
type Case = {
  readonly row: string
  readonly as?: string
  readonly by: () => Call
  readonly given?: () => Promise<{ readonly path?: string; readonly body?: unknown }>
  readonly path?: string
  readonly body?: unknown
  readonly answer: unknown
  /** Of answers that are no JSON, or have headers of their own. */
  readonly also?: (answer: Answer) => void
}

const id = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}_[A-Za-z0-9]+$`))
const ISO = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const POLICIES = expect.toSatisfy(
  (list: string[]) => list.length > 0 && list.every((one) => /^pol_\w+$/.test(one)),
  'ids of policies',
)
const TOKEN = expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/)
const TEXT = expect.stringMatching(/./)
const NUMBER = expect.any(Number)
const decision = (outcome: string) => ({
  ...{ outcome, reason: TEXT, matched_policies: POLICIES, constraints: null },
  risk_score: expect.toSatisfy((score) => score >= 0 && score <= 1, 'between 0 and 1'),
})
const approval = {
  id: id('apr'),
  status: 'pending',
  required_approver_groups: expect.any(Array),
  expires_at: ISO,
}
const agentKey = () => world.agent.call
const owner = () => world.by.owner
const admin = () => world.by.admin
const member = () => world.by.member
const viewer = () => world.by.viewer
const nobody = () => world.by.nobody
const act = (suffix: string) => async () => {
  const action = await world.allowed()
  return { path: `/api/v1/actions/${action.id}${suffix}`, body: { decision_token: action.token } }
}
const policySummary = {
  ...{ id: id('pol'), name: TEXT, description: expect.any(String), enabled: expect.any(Boolean) },
  ...{ priority: NUMBER, tags: expect.any(Array), created_at: ISO },
}
const every = (item: object) =>
  expect.toSatisfy((list: unknown[]) => {
    expect(list.length).toBeGreaterThan(0)
    for (const one of list) expect(one).toMatchObject(item)
    return true
  }, 'a list of these')

const V1: readonly Case[] = [
  {
    ...{ row: 'POST /api/v1/actions', as: 'allowed', by: agentKey, body: { action_spec: ALLOWED } },
    answer: {
      ...{ action_request_id: id('act'), status: 'allowed', decision: decision('allow') },
      ...{ decision_token: TOKEN, expires_at: ISO },
    },
  },
  {
    ...{
      row: 'POST /api/v1/actions',
      as: 'waiting for a person',
      by: agentKey,
      body: { action_spec: RISKY },
    },
    answer: {
      ...{
        action_request_id: id('act'),
        status: 'pending_approval',
        decision: decision('requires_approval'),
      },
      ...{ decision_token: null, approval },
    },
  },
  {
    ...{ row: 'POST /api/v1/actions', as: 'denied', by: agentKey, body: { action_spec: DESTRUCTIVE } },
    answer: {
      action_request_id: id('act'),
      status: 'denied',
      decision: decision('deny'),
      decision_token: null,
    },
  },
  {
    ...{ row: 'POST /api/v1/actions/batch', by: agentKey },
    body: { actions: [{ action_spec: ALLOWED }, { action_spec: RISKY }] },
    answer: {
      ...{ batch_id: id('batch'), total: 2 },
      results: [
        {
          ...{ action_request_id: id('act'), status: 'allowed', decision: decision('allow') },
          ...{ decision_token: TOKEN, expires_at: ISO },
        },
        {
          ...{ action_request_id: id('act'), status: 'denied', decision: decision('requires_approval') },
          ...{ decision_token: null, expires_at: null },
        },
      ],
    },
  },
  {
    ...{ row: 'POST /api/v1/actions/dry-run', by: agentKey, body: { action_spec: RISKY } },
    answer: {
      dry_run: true,
      decision: {
        ...decision('requires_approval'),
        ...{ matched_rules: [TEXT], risk_factors: expect.any(Array), approver_groups: expect.any(Array) },
      },
      trace: every({
        ...{ policy_id: id('pol'), policy_name: TEXT, scope_matched: expect.any(Boolean) },
        rules: expect.any(Array),
      }),
      policies_evaluated: NUMBER,
      agent: { id: id('agent'), environment: 'development' },
    },
    also: ({ body }) => {
      const rules = at<{ rules: Record<string, unknown>[] }[]>(body, 'trace').flatMap(
        (policy) => policy.rules,
      )
      for (const rule of rules) {
        expect(Object.keys(rule).sort()).toEqual([
          'conditions_matched',
          'decision',
          'failed_condition',
          'rule_name',
        ])
      }
      expect(rules.some((rule) => rule['conditions_matched'] === false && rule['failed_condition'])).toBe(
        true,
      )
    },
  },
  {
    ...{ row: 'GET /api/v1/actions/:actionRequestId', by: agentKey },
    given: async () => ({ path: `/api/v1/actions/${(await world.allowed()).id}` }),
    answer: {
      ...{
        action_request_id: id('act'),
        status: 'allowed',
        action_spec: ALLOWED,
        decision: decision('allow'),
      },
      ...{ decision_token: TOKEN, created_at: ISO, expires_at: ISO, approval: null },
    },
  },
  {
    ...{ row: 'POST /api/v1/actions/:actionRequestId/execute', by: agentKey, given: act('/execute') },
    answer: {
      ...{ executed: true, action_request_id: id('act') },
      gateway_response: { status: 201, result: { number: 3 } },
    },
  },
  {
    ...{ row: 'POST /api/v1/actions/:actionRequestId/cancel', by: agentKey },
    given: async () => ({ path: `/api/v1/actions/${(await world.pending()).id}/cancel` }),
    answer: { action_request_id: id('act'), status: 'cancelled' },
  },
  {
    ...{ row: 'POST /api/v1/agents/register', by: agentKey },
    body: { name: 'registered', runtime: 'x', environment: 'production' },
    answer: {
      agent_id: id('agent'),
      api_key: expect.stringMatching(/^svc_live_\w{32,}$/),
      api_key_prefix: expect.stringMatching(/^svc_live_\w{6}$/),
    },
  },
  { row: 'GET /api/v1/policies', by: agentKey, answer: { policies: every(policySummary) } },
  {
    ...{ row: 'GET /api/v1/audit/events', by: agentKey, path: '/api/v1/audit/events?limit=3&offset=1' },
    answer: { events: expect.any(Array), total: NUMBER, limit: 3, offset: 1 },
    also: ({ body }) => {
      expect(at(body, 'events')).toHaveLength(3)
      for (const event of at<object[]>(body, 'events')) {
        const known = { id: expect.stringMatching(/^evt_\d{12}$/), event_type: TEXT, org_id: id('org') }
        expect(event).toMatchObject({ ...known, details: expect.any(Object), created_at: ISO })
      }
    },
  },
  {
    ...{ row: 'POST /api/v1/approvals/:approvalId/respond', by: member },
    given: async () => ({
      path: `/api/v1/approvals/${(await world.pending()).approval}/respond`,
      body: { decision: 'approve', reason: 'fine' },
    }),
    answer: { approval_id: id('apr'), status: 'approved', decision_token: TOKEN },
  },
  {
    ...{ row: 'POST /api/v1/org/kill-switch', as: 'off', by: agentKey, body: { active: false } },
    answer: { kill_switch: false },
  },
  {
    ...{ row: 'POST /api/v1/tokens/verify', as: 'valid', by: nobody },
    given: async () => {
      const { id: action_request_id, token: decision_token } = await world.allowed()
      return { body: { decision_token, action_request_id } }
    },
    answer: {
      valid: true,
      payload: {
        sub: id('agent'),
        org: id('org'),
        act: id('act'),
        ash: expect.stringMatching(/^[0-9a-f]{64}$/),
      },
    },
  },
  {
    ...{ row: 'POST /api/v1/tokens/verify', as: 'used', by: nobody },
    given: async () => {
      const { id: action_request_id, token: decision_token } = await world.allowed()
      const body = { decision_token, action_request_id }
      await world.by.nobody('POST', '/api/v1/tokens/verify', body)
      return { body }
    },
    answer: { valid: false, error: 'Nonce already used' },
  },
]

const gatewayRow = {
  ...{ id: id('gw'), name: TEXT, host: TEXT, port: NUMBER, status: TEXT, enforcementLevel: TEXT },
}
const check = { status: 'ok', latencyMs: NUMBER }
const gatewayId = async () => {
  const { body } = await world.by.owner('GET', '/api/dashboard/gateway')
  return at<{ id: string; name: string }[]>(body, 'gateways').find(({ name }) => name.endsWith('wizard'))?.id
}

const DASHBOARD: readonly Case[] = [
  {
    ...{ row: 'POST /api/auth/register', by: nobody },
    body: { email: 'later@example.com', password: PASSWORD, name: 'Later' },
    answer: { ok: true, user: { id: id('usr'), email: 'later@example.com', role: 'viewer' } },
  },
  {
    ...{ row: 'POST /api/auth/login', by: nobody, body: { email: 'viewer@example.com', password: PASSWORD } },
    answer: { ok: true, user: { id: id('usr'), email: 'viewer@example.com', role: 'viewer' } },
    also: ({ headers }) =>
      expect(headers.get('set-cookie')).toMatch(/^svc_session=[^;]{20,};.*HttpOnly.*SameSite/),
  },
  {
    ...{ row: 'POST /api/auth/logout', by: () => leaving },
    given: async () => {
      leaving = await world.here.world.plane.signIn('viewer@example.com')
      return {}
    },
    answer: { ok: true },
    also: ({ headers }) => expect(headers.get('set-cookie')).toMatch(/^svc_session=;.*Max-Age=0/),
  },
  {
    ...{ row: 'GET /api/health', by: nobody },
    answer: { status: 'healthy', timestamp: ISO, checks: { database: check, gateway: check } },
  },
  {
    ...{ row: 'POST /api/maintenance/cleanup', by: () => world.by.maintenance },
    answer: expect.objectContaining({
      ...{ status: 'ok', timestamp: ISO },
      cleaned: {
        ...{ expired_nonces: NUMBER, expired_sessions: NUMBER },
        ...{ used_nonces_cleaned: NUMBER, old_audit_events: NUMBER },
      },
    }),
  },
  {
    ...{ row: 'GET /api/metrics', by: () => world.by.maintenance, answer: {} },
    also: ({ headers, text }) => {
      expect(headers.get('content-type')).toMatch(/^text\/plain/)
      for (const line of [
        ...[/^# TYPE svc_actions_total counter$/m, /^# TYPE svc_processes_active gauge$/m],
        ...[/^# TYPE svc_actions_last_hour gauge$/m, /^# TYPE svc_decisions_24h gauge$/m],
        ...['allow', 'deny', 'requires_approval'].map(
          (o) => new RegExp(`^svc_decisions_24h{outcome="${o}"} \\d+$`, 'm'),
        ),
      ]) {
        expect(text).toMatch(line)
      }
    },
  },
  {
    ...{ row: 'POST /api/dashboard/gateway', by: admin },
    body: {
      gateway: { name: 'wizard', host: '127.0.0.1', port: 9555, enforcementLevel: 'full_enforce' },
      agent: { name: 'wizards-agent', create: true },
      connectors: [{ type: 'codehost', token: 'ghp_x', accessRule: 'allow_all' }],
    },
    answer: expect.objectContaining({
      ...{ ok: true, gateway_id: id('gw'), gateway_name: 'wizard' },
      api_key: expect.stringMatching(/^svc_(test|live)_/),
    }),
  },
  {
    ...{ row: 'GET /api/dashboard/gateway', by: admin, answer: { gateways: every(gatewayRow) } },
    also: ({ body }) => {
      const live = at<{ live: object | null }[]>(body, 'gateways').map((row) => row.live)
      expect(live).toContain(null)
      const running = live.find((one) => one !== null)
      expect(Object.keys(running ?? {}).sort()).toEqual([
        'agents',
        'applied_version',
        'desired_version',
        'kill_switch',
        'last_seen_at',
        'processes',
        'uptime_seconds',
        // Extensions: the versions that the processes run, and what they say is probably not meant.
        'versions',
        'warnings',
      ])
    },
  },
  {
    ...{ row: 'PATCH /api/dashboard/gateway', by: admin },
    given: async () => ({ body: { gateway_id: await gatewayId(), enforcementLevel: 'monitor' } }),
    answer: { ok: true, gateway: expect.objectContaining({ ...gatewayRow, enforcementLevel: 'monitor' }) },
  },
  {
    ...{ row: 'POST /api/dashboard/agents', by: admin },
    body: { name: 'made', runtime: 'x', environment: 'staging' },
    answer: {
      ...{ ok: true, agent_id: id('agent'), api_key: expect.stringMatching(/^svc_test_/) },
      api_key_prefix: expect.stringMatching(/^svc_test_\w{6}$/),
    },
  },
  {
    ...{ row: 'GET /api/dashboard/agents', by: admin },
    answer: {
      agents: every({
        ...{
          agent_id: id('agent'),
          name: TEXT,
          runtime: expect.any(String),
          environment: TEXT,
          status: TEXT,
        },
        ...{
          capabilities: expect.any(Array),
          metadata: expect.any(Object),
          api_key_prefix: expect.anything(),
        },
      }),
    },
    also: ({ text }) => expect(text).not.toMatch(/svc_(test|live)_\w{20}/),
  },
  {
    ...{ row: 'PATCH /api/dashboard/agents', by: admin },
    given: async () => ({ body: { agent_id: world.stranger.id, metadata: { team: 'web' } } }),
    answer: { ok: true, agent: expect.objectContaining({ metadata: { team: 'web' } }) },
  },
  {
    ...{ row: 'POST /api/dashboard/policies', by: admin },
    body: {
      name: 'contract',
      policyYaml: 'rules: [{ name: a, decision: deny }]\nscope: { actions: [x.y.z] }\n',
    },
    answer: expect.objectContaining({ ok: true, policy_id: id('pol'), version: 1 }),
  },
  {
    ...{ row: 'GET /api/dashboard/policies', by: admin },
    answer: { policies: every({ ...policySummary, policyYaml: TEXT, version: NUMBER }) },
  },
  {
    ...{ row: 'PATCH /api/dashboard/policies', by: admin },
    given: async () => {
      const { body } = await world.by.admin('GET', '/api/dashboard/policies')
      const mine = at<{ id: string; name: string }[]>(body, 'policies').find(
        ({ name }) => name === 'contract',
      )
      const policyYaml = 'rules: [{ name: b, decision: deny }]\nscope: { actions: [x.y.z] }\n'
      return { body: { policy_id: mine?.id, policyYaml, expected_version: 1 } }
    },
    answer: expect.objectContaining({ ok: true, policy_id: id('pol'), version: 2 }),
  },
  {
    ...{ row: 'POST /api/dashboard/setup', by: admin },
    body: {
      agent: { name: 'quick', runtime: 'x', environment: 'staging' },
      connectors: [{ type: 'codehost', token: 'ghp_y', accessRule: 'allow_all' }],
    },
    answer: {
      ...{ ok: true, agent_id: id('agent'), api_key: TEXT, gateway_id: id('gw') },
      ...{ connectors: expect.any(Array), permissions_created: NUMBER },
    },
  },
  {
    ...{ row: 'GET /api/dashboard/traffic', by: viewer, path: '/api/dashboard/traffic?limit=1' },
    given: async () => {
      await eventually('the record of the execute is there', async () => {
        const { body } = await world.by.viewer('GET', '/api/dashboard/traffic')
        return at<unknown[]>(body, 'traffic').length > 0 ? true : null
      })
      return {}
    },
    answer: {
      ...{
        limit: 1,
        next_cursor: expect.toSatisfy((cursor) => cursor === null || typeof cursor === 'string', 'a cursor'),
      },
      traffic: every({
        id: TEXT,
        time: TEXT,
        agent: TEXT,
        action_type: TEXT,
        decision: 'ALLOW',
        latency_ms: NUMBER,
      }),
    },
  },
  {
    ...{ row: 'GET /api/dashboard/proxy-approvals', by: member },
    answer: {
      approvals: every({ id: TEXT, kind: 'action', status: TEXT, action_type: TEXT }),
      total: NUMBER,
    },
  },
  {
    ...{ row: 'POST /api/dashboard/proxy-approvals', by: member },
    given: async () => ({ body: { id: (await world.pending()).approval, approved: false, note: 'no' } }),
    answer: { ok: true, id: id('apr'), status: 'denied' },
  },
  {
    ...{ row: 'PUT /api/dashboard/settings', by: admin },
    body: { settings: { chat_channel_id: 'C123', codehost_pat: 'ghp_secret_of_the_contract' } },
    answer: { ok: true },
  },
  {
    ...{ row: 'GET /api/dashboard/settings', by: admin },
    answer: { settings: expect.objectContaining({ chat_channel_id: 'C123', codehost_pat: '********' }) },
    also: ({ text }) => expect(text).not.toContain('ghp_secret_of_the_contract'),
  },
  {
    ...{ row: 'GET /api/dashboard/audit-export', by: admin, answer: {} },
    also: ({ headers, text }) => {
      expect(headers.get('content-type')).toBe('text/csv; charset=utf-8')
      expect(text).toMatch(/^timestamp,event_type,agent_id,action_type,details,id,/)
    },
  },
  {
    ...{ row: 'GET /api/dashboard/export', by: admin },
    answer: {
      ...{ version: TEXT, exportedAt: ISO, organization: { name: TEXT, plan: 'Enterprise' } },
      agents: every({
        ...{ name: TEXT, runtime: expect.any(String), environment: TEXT, status: TEXT },
        ...{ capabilities: expect.any(Array), metadata: expect.any(Object) },
      }),
      policies: every({
        ...{ name: TEXT, policyYaml: TEXT, priority: NUMBER, enabled: expect.any(Boolean) },
        ...{ tags: expect.any(Array), version: NUMBER },
      }),
    },
    also: ({ headers }) => expect(headers.get('content-disposition')).toMatch(/^attachment/),
  },
  {
    ...{ row: 'POST /api/dashboard/import', by: owner },
    body: {
      version: '1.0',
      agents: [{ name: 'taken-in', runtime: 'x', environment: 'staging' }],
      policies: [
        {
          name: 'taken-in',
          policyYaml: 'rules: [{ name: a, decision: deny }]\nscope: { actions: [x.y.z] }\n',
        },
      ],
    },
    answer: expect.objectContaining({ policies_imported: 1, agents_imported: 1, errors: [] }),
  },
  {
    ...{ row: 'POST /api/dashboard/users', by: admin },
    given: async () => ({ body: { user_id: world.ids.viewer, action: 'activate' } }),
    answer: { ok: true, role: 'viewer' },
  },
  {
    ...{ row: 'POST /api/dashboard/demo-action', by: viewer, body: { scenario: 2 } },
    answer: {
      ...{ ok: true, scenario: TEXT, action_request_id: id('act') },
      decision: decision('deny'),
    },
  },
  {
    ...{ row: 'GET /api/dashboard/test-gateway', by: viewer },
    given: async () => {
      const settings = { gateway_url: world.here.gateway.url }
      await world.by.admin('PUT', '/api/dashboard/settings', { settings })
      return { path: `/api/dashboard/test-gateway?url=${encodeURIComponent(world.here.gateway.url)}` }
    },
    answer: { ok: true, status: 'connected', connectors: expect.any(Array) },
  },
]
let leaving: Call

describe.each([
  ['4.3', V1],
  ['4.4', DASHBOARD],
] as const)('specification %s answers 200', (_section, cases) => {
  test.each(cases.map((one) => [`${one.row}${one.as === undefined ? '' : ` (${one.as})`}`, one] as const))(
    '%s',
    async (_name, one) => {
      const given = (await one.given?.()) ?? {}
      const [method = '', path = ''] = one.row.split(' ')
      const answer = await one.by()(method, given.path ?? one.path ?? path, given.body ?? one.body)
      expect(answer.status, answer.text).toBe(200)
      expect(answer.headers.get('x-request-id')).toMatch(/^req_\w{10,}$/)
      expect(answer.headers.get('x-service-version')).toBe(version)
      expect(version).toMatch(/^\d+\.\d+\.\d+$/)
      expect(answer.body).toEqual(one.answer)
      one.also?.(answer)
    },
  )
})

test('these are all rows of 4.3 and 4.4, and nothing in an answer to a gateway token reads as one of them', async () => {
  const rows = new Set([...V1, ...DASHBOARD].map(({ row }) => row))
  expect([...rows].sort()).toEqual([...SPECIFIED].sort())
  const gateway = caller(world.here.world.plane.url, {
    authorization: `Bearer ${ENROL_TOKEN}`,
    'x-process-id': 'proc_x',
  })
  expect((await gateway('GET', '/api/v1/policies')).status).toBe(401)
})

const SPECIFIED = [
  ...['POST /api/v1/actions', 'POST /api/v1/actions/batch', 'POST /api/v1/actions/dry-run'],
  ...['GET /api/v1/actions/:actionRequestId', 'POST /api/v1/actions/:actionRequestId/execute'],
  ...['POST /api/v1/actions/:actionRequestId/cancel', 'POST /api/v1/agents/register', 'GET /api/v1/policies'],
  ...[
    'GET /api/v1/audit/events',
    'POST /api/v1/approvals/:approvalId/respond',
    'POST /api/v1/org/kill-switch',
  ],
  ...[
    'POST /api/v1/tokens/verify',
    'POST /api/auth/register',
    'POST /api/auth/login',
    'POST /api/auth/logout',
  ],
  ...['GET /api/health', 'POST /api/maintenance/cleanup', 'GET /api/metrics'],
  ...['GET', 'POST', 'PATCH'].flatMap((method) =>
    ['gateway', 'agents', 'policies'].map((name) => `${method} /api/dashboard/${name}`),
  ),
  ...['POST /api/dashboard/setup', 'GET /api/dashboard/traffic', 'GET /api/dashboard/proxy-approvals'],
  ...['POST /api/dashboard/proxy-approvals', 'GET /api/dashboard/settings', 'PUT /api/dashboard/settings'],
  ...['GET /api/dashboard/audit-export', 'GET /api/dashboard/export', 'POST /api/dashboard/import'],
  ...['POST /api/dashboard/users', 'POST /api/dashboard/demo-action', 'GET /api/dashboard/test-gateway'],
]
