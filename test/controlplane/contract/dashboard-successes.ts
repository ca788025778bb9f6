import { expect } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { at, type Call, PASSWORD } from '../routes/start.ts'
import { callersOf, type World } from './contract-world.ts'
import { decision, every, ISO, id, NUMBER, policySummary, type SuccessCase, TEXT } from './success-case.ts'

const gatewayRow = {
  ...{ id: id('gw'), name: TEXT, host: TEXT, port: NUMBER, status: TEXT, enforcementLevel: TEXT },
}
const check = { status: 'ok', latencyMs: NUMBER }

/** Rows of section 4.4 of the specification. */
export function dashboardSuccesses(world: World): readonly SuccessCase[] {
  const { owner, admin, member, viewer, nobody } = callersOf(world)
  let leaving: Call
  const gatewayId = async () => {
    const { body } = await world().by.owner('GET', '/api/dashboard/gateway')
    return at<{ id: string; name: string }[]>(body, 'gateways').find(({ name }) => name.endsWith('wizard'))
      ?.id
  }
  return [
    {
      ...{ row: 'POST /api/auth/register', by: nobody },
      body: { email: 'later@example.com', password: PASSWORD, name: 'Later' },
      answer: { ok: true, user: { id: id('usr'), email: 'later@example.com', role: 'viewer' } },
    },
    {
      ...{
        row: 'POST /api/auth/login',
        by: nobody,
        body: { email: 'viewer@example.com', password: PASSWORD },
      },
      answer: { ok: true, user: { id: id('usr'), email: 'viewer@example.com', role: 'viewer' } },
      also: ({ headers }) =>
        expect(headers.get('set-cookie')).toMatch(/^svc_session=[^;]{20,};.*HttpOnly.*SameSite/),
    },
    {
      ...{ row: 'POST /api/auth/logout', by: () => leaving },
      given: async () => {
        leaving = await world().here.world.plane.signIn('viewer@example.com')
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
      ...{ row: 'POST /api/maintenance/cleanup', by: () => world().by.maintenance },
      answer: expect.objectContaining({
        ...{ status: 'ok', timestamp: ISO },
        cleaned: {
          ...{ expired_nonces: NUMBER, expired_sessions: NUMBER },
          ...{ used_nonces_cleaned: NUMBER, old_audit_events: NUMBER },
        },
      }),
    },
    {
      ...{ row: 'GET /api/metrics', by: () => world().by.maintenance, answer: {} },
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
      given: async () => ({ body: { agent_id: world().stranger.id, metadata: { team: 'web' } } }),
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
        const { body } = await world().by.admin('GET', '/api/dashboard/policies')
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
          const { body } = await world().by.viewer('GET', '/api/dashboard/traffic')
          return at<unknown[]>(body, 'traffic').length > 0 ? true : null
        })
        return {}
      },
      answer: {
        ...{
          limit: 1,
          next_cursor: expect.toSatisfy(
            (cursor) => cursor === null || typeof cursor === 'string',
            'a cursor',
          ),
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
      given: async () => ({ body: { id: (await world().pending()).approval, approved: false, note: 'no' } }),
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
      given: async () => ({ body: { user_id: world().ids.viewer, action: 'activate' } }),
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
        const settings = { gateway_url: world().here.gateway.url }
        await world().by.admin('PUT', '/api/dashboard/settings', { settings })
        return { path: `/api/dashboard/test-gateway?url=${encodeURIComponent(world().here.gateway.url)}` }
      },
      answer: { ok: true, status: 'connected', connectors: expect.any(Array) },
    },
  ]
}
