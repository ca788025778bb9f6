import { mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, caller, startControlPlane, type TestControlPlane } from './start.ts'

let server: TestPostgres
let database: TestDatabase
let plane: TestControlPlane
let folder: string
let admin: Call
let agentCount = 0

beforeAll(async () => {
  server = await workerPostgres()
  database = await server.createMigratedDatabase()
  folder = await mkdtemp(join(tmpdir(), 'chaperone-config-'))
  await writeFile(join(folder, 'enrol.token'), 'enrolment-token-of-the-local-gateway\n')
  plane = await startControlPlane(database, {
    ADMIN_TOKEN_FILE: join(folder, 'admin.token'),
    LOCAL_GATEWAY_TOKEN_FILE: join(folder, 'enrol.token'),
  })
  const token = (await readFile(join(folder, 'admin.token'), 'utf8')).trim()
  admin = caller(plane.url, { authorization: `Bearer ${token}` })
})

afterAll(async () => {
  await plane?.close()
  await server?.stop()
  await rm(folder, { recursive: true, force: true })
})

describe('the admin token', () => {
  test('is made readable for its owner alone and acts as an owner', async () => {
    expect((await stat(join(folder, 'admin.token'))).mode & 0o777).toBe(0o600)
    expect((await admin('GET', '/api/auth/me')).body).toMatchObject({
      user: { role: 'owner', via: 'admin_token' },
    })
  })
})

describe('agents', () => {
  test('get a key that is shown once, found by its prefix and stored as a hash', async () => {
    const made = await admin('POST', '/api/dashboard/agents', {
      name: 'builder',
      runtime: 'python',
      environment: 'production',
    })
    expect(made.status).toBe(200)
    const key = at(made.body, 'api_key')
    expect(key).toMatch(/^svc_live_[0-9A-Za-z]{43}$/)
    expect(at(made.body, 'api_key_prefix')).toBe(key.slice(0, 15))
    const list = await admin('GET', '/api/dashboard/agents')
    expect(list.text).not.toContain(key)
    expect(at(list.body, 'agents', 0)).toMatchObject({
      name: 'builder',
      environment: 'production',
      status: 'active',
      gateway: 'default/local',
      capabilities: [],
      metadata: {},
      source: 'api',
      api_key_prefix: key.slice(0, 15),
    })
    expect(await dump('agents')).not.toContain(key)
  })

  test('are given an action or fields, never both: nothing that was sent is left out in silence', async () => {
    const id = await newAgent('both')
    const both = { agent_id: id, action: 'suspend', name: 'other' }
    const answer = await admin('PATCH', '/api/dashboard/agents', both)
    expect(answer.status).toBe(400)
    expect(answer.body['details']).toBe(
      'action: cannot be combined with other fields; change these in a separate request',
    )
    expect(await eventsOf(id)).toEqual(['agent.registered'])
  })

  test('are suspended, activated and revoked for good; each is one audit event', async () => {
    const id = await newAgent('lifecycle')
    const act = (action: string) => admin('PATCH', '/api/dashboard/agents', { agent_id: id, action })
    expect((await act('suspend')).body).toMatchObject({ ok: true, agent: { status: 'suspended' } })
    expect((await act('suspend')).status).toBe(200)
    expect((await act('activate')).body).toMatchObject({ agent: { status: 'active' } })
    expect((await act('revoke')).body).toMatchObject({ agent: { status: 'revoked' } })
    expect((await act('activate')).status).toBe(409)
    expect((await act('rotate_key')).status).toBe(409)
    expect(await eventsOf(id)).toEqual([
      'agent.registered',
      'agent.suspended',
      'agent.activated',
      'agent.revoked',
    ])
  })

  test('are refused without required fields, with a taken name and with one that would break their key', async () => {
    const missing = await admin('POST', '/api/dashboard/agents', { name: 'x' })
    expect(missing.body).toMatchObject({ details: 'runtime: is required; environment: is required' })
    const fields = { runtime: 'r', environment: 'development' }
    expect((await admin('POST', '/api/dashboard/agents', { name: 'builder', ...fields })).status).toBe(409)
    expect((await admin('POST', '/api/dashboard/agents', { name: 'a:b', ...fields })).status).toBe(400)
    expect((await admin('POST', '/api/dashboard/agents', { name: '*', ...fields })).status).toBe(400)
  })
})

describe('a connector whose bodies are opaque', () => {
  test('says so in the list; one that does not say so has none', async () => {
    const fields = { type: 'generic', token: 't', domains: ['files.example.test'] }
    const listed = async () => {
      const { body } = await admin('GET', '/api/dashboard/connectors')
      const rows = at<{ domains: string[]; bodies: unknown }[]>(body, 'connectors')
      return rows.find(({ domains }) => domains.includes('files.example.test'))?.bodies
    }
    expect((await admin('POST', '/api/dashboard/connectors', fields)).status).toBe(200)
    expect(await listed()).toBeNull()
    const opaque = { ...fields, bodies: 'opaque' }
    expect((await admin('POST', '/api/dashboard/connectors', opaque)).status).toBe(200)
    expect(await listed()).toBe('opaque')
    const other = { ...fields, bodies: 'anything' }
    expect((await admin('POST', '/api/dashboard/connectors', other)).status).toBe(400)
  })
})

describe('an MCP connector', () => {
  const fields = { type: 'mcp', token: 't', domains: ['tools.endpoint.test'] }
  const listed = async () => {
    const { body } = await admin('GET', '/api/dashboard/connectors')
    const rows = at<{ domains: string[]; endpoint: unknown; warnings: string[] }[]>(body, 'connectors')
    return rows.find(({ domains }) => domains.includes('tools.endpoint.test'))
  }

  test('without an endpoint is listed with a warning, and keeps the endpoint that it gets', async () => {
    expect((await admin('POST', '/api/dashboard/connectors', fields)).status).toBe(200)
    expect(await listed()).toMatchObject({ endpoint: null, warnings: [expect.stringContaining('endpoint')] })
    const named = { ...fields, endpoint: ['/mcp'] }
    expect((await admin('POST', '/api/dashboard/connectors', named)).status).toBe(200)
    expect(await listed()).toMatchObject({ endpoint: ['/mcp'], warnings: [] })
    expect((await admin('POST', '/api/dashboard/connectors', { ...fields, token: 'u' })).status).toBe(200)
    expect(await listed()).toMatchObject({ endpoint: ['/mcp'], warnings: [] })
  })

  test.each([[['mcp']], [['/a b']], [['/a?b']], [['/a/../b']], [['/%6dcp']], [['//x']], [[]], ['/mcp']])(
    'with the endpoint %j is refused',
    async (endpoint) => {
      const answer = await admin('POST', '/api/dashboard/connectors', { ...fields, endpoint })
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('endpoint')
    },
  )

  test('of another type has none', async () => {
    const body = { ...fields, type: 'generic', endpoint: ['/mcp'] }
    const answer = await admin('POST', '/api/dashboard/connectors', body)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('type mcp only')])
  })
})

describe('the quick setup', () => {
  test('makes agent, connectors and permissions of that agent alone, in one go', async () => {
    const answer = await setup('quick', [
      { type: 'codehost', token: 'ghp_canary_quick', accessRule: 'read_only' },
      {
        type: 'payments',
        token: 'sk_canary_quick',
        accessRule: 'custom',
        customPatterns: [{ pattern: 'payments.customer.*', decision: 'allow' }],
      },
    ])
    expect(answer.body).toMatchObject({
      ok: true,
      connectors: [
        { type: 'codehost', domains: expect.arrayContaining(['api.github.com']) },
        { type: 'payments' },
      ],
    })
    const { body } = await admin('GET', '/api/dashboard/permissions?gateway=local')
    const mine = at<{ agent: string; action_pattern: string; decision: string; connector_type: string }[]>(
      body,
      'permissions',
    ).filter((p) => p.agent === 'quick')
    expect(mine).toHaveLength(at<number>(answer.body, 'permissions_created'))
    const decisionOf = (pattern: string) => mine.find((p) => p.action_pattern === pattern)?.decision
    expect(decisionOf('codehost.*')).toBe('deny')
    expect(decisionOf('codehost.issue.list')).toBe('allow')
    expect(decisionOf('codehost.issue.create')).toBeUndefined()
    expect(decisionOf('payments.customer.*')).toBe('allow')
  })

  test('stores credentials that no answer, log line or dump shows', async () => {
    const shown = await Promise.all(
      ['connectors', 'gateway', 'permissions', 'agents'].map((path) =>
        admin('GET', `/api/dashboard/${path}`),
      ),
    )
    expect(shown.map((answer) => answer.status)).toEqual([200, 200, 200, 200])
    const everything = [
      ...shown.map((answer) => answer.text),
      plane.log(),
      await dump('connectors'),
      await dump('audit_events'),
    ].join('\n')
    expect(everything).toContain('payments')
    expect(everything).not.toMatch(/canary/)
  })

  test('with the same connector again replaces its token instead of making a second', async () => {
    await setup('quick2', [{ type: 'codehost', token: 'ghp_canary_second', accessRule: 'allow_all' }])
    const { body } = await admin('GET', '/api/dashboard/connectors')
    expect(at<{ type: string }[]>(body, 'connectors').filter((row) => row.type === 'codehost')).toHaveLength(
      1,
    )
  })

  test.each([
    [
      { type: 'generic', token: 't', accessRule: 'allow_all' },
      'connectors.0.domains: a connector of type generic',
    ],
    [{ type: 'nothing', token: 't', accessRule: 'allow_all' }, 'connectors.0.type: '],
    [{ type: 'codehost', accessRule: 'allow_all' }, 'connectors.0.token: is required'],
    [
      { type: 'codehost', token: 't', accessRule: 'custom' },
      'connectors.0.customPatterns: is required with accessRule custom',
    ],
    [
      {
        type: 'codehost',
        token: 't',
        accessRule: 'custom',
        customPatterns: [{ pattern: 'a*b', decision: 'allow' }],
      },
      'connectors.0.customPatterns.0.pattern: ',
    ],
    [
      { type: 'generic', token: 't', accessRule: 'allow_all', domains: ['bad domain'] },
      'connectors.0.domains.0: ',
    ],
  ])('refuses %o naming the path, and leaves nothing behind', async (connector, details) => {
    const name = `bad${agentCount++}`
    const answer = await setup(name, [connector])
    expect(answer.status).toBe(400)
    expect(at(answer.body, 'details')).toContain(details)
    expect(
      at<{ name: string }[]>((await admin('GET', '/api/dashboard/agents')).body, 'agents').map((a) => a.name),
    ).not.toContain(name)
  })

  test('refuses a host that another connector of the gateway owns', async () => {
    const answer = await setup('overlap', [
      { type: 'generic', token: 't', domains: ['api.github.com'], accessRule: 'allow_all' },
    ])
    expect(answer.status).toBe(409)
    expect(at(answer.body, 'message')).toContain('api.github.com already belongs to the connector codehost')
  })
})

describe('the wizard', () => {
  test('builds a gateway that can enrol, with an agent of its own', async () => {
    const answer = await admin('POST', '/api/dashboard/gateway', {
      gateway: { name: 'edge', host: '10.0.0.5', port: 9443, enforcementLevel: 'monitor' },
      agent: { name: 'edge-agent', create: true },
      connectors: [{ type: 'llm_a', token: 'sk-canary-edge', accessRule: 'require_approval' }],
    })
    expect(answer.body).toMatchObject({
      ok: true,
      gateway_id: expect.stringMatching(/^gw_/),
      gateway_name: 'edge',
      api_key: expect.stringMatching(/^svc_test_/),
    })
    const { body } = await admin('GET', '/api/dashboard/gateway')
    const edge = at<{ name: string }[]>(body, 'gateways').find((gateway) => gateway.name === 'edge')
    expect(edge).toMatchObject({
      host: '10.0.0.5',
      port: 9443,
      status: 'stopped',
      enforcementLevel: 'monitor',
      live: null,
    })

    const enrol = caller(plane.url, {
      authorization: `Bearer ${at(answer.body, 'gateway_token')}`,
      'x-process-id': 'proc_1',
    })
    expect(
      (await enrol('POST', '/api/gateway/ack', { version: 1, applied_at: new Date().toISOString() })).status,
    ).toBe(200)
    expect(
      (
        await caller(plane.url, { authorization: 'Bearer wrong', 'x-process-id': 'proc_1' })(
          'POST',
          '/api/gateway/ack',
          {},
        )
      ).status,
    ).toBe(401)
  })

  test('makes connectors that refuse in the format of the provider where its SDKs need it', async () => {
    const types = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat'] as const
    const connectors = [
      ...types.map((type) => ({ type, token: 'canary-shape', accessRule: 'read_only' })),
      { type: 'generic', token: 'canary-shape', accessRule: 'read_only', domains: ['shape.example.com'] },
    ]
    const body = { gateway: { name: 'shaped' }, connectors }
    expect((await admin('POST', '/api/dashboard/gateway', body)).status).toBe(200)
    const { rows: shapes } = await asAdmin(
      `select c.type, c.spec->>'errorShape' as shape from connectors c join gateways g on g.id = any (c.gateway_ids)
       where g.name like '%shaped' order by c.type`,
    )
    expect(Object.fromEntries(shapes.map(({ type, shape }) => [type, shape]))).toEqual({
      ...{ codehost: 'service', generic: 'service' },
      ...{ chat: 'provider', llm_a: 'provider', llm_b: 'provider', llm_c: 'provider', payments: 'provider' },
    })
  })

  test('without an agent answers a null key; with an unknown one says so', async () => {
    const body = { gateway: { name: 'quiet' }, connectors: [] }
    expect((await admin('POST', '/api/dashboard/gateway', body)).body).toMatchObject({
      ok: true,
      api_key: null,
    })
    const unknown = await admin('POST', '/api/dashboard/gateway', {
      ...body,
      gateway: { name: 'quiet2' },
      agent: { name: 'ghost', create: false },
    })
    expect(unknown.status).toBe(400)
    expect(at(unknown.body, 'details')).toContain('agent.name: there is no agent named ghost')
  })
})

describe('a gateway', () => {
  test('changes its level with a reason in the audit log', async () => {
    const id = await gatewayId('quiet')
    const answer = await admin('PATCH', '/api/dashboard/gateway', {
      gateway_id: id,
      enforcementLevel: 'monitor',
      reason: 'trial',
    })
    expect(answer.body).toMatchObject({ ok: true, gateway: { enforcementLevel: 'monitor' } })
    const { rows } = await asAdmin(
      "select details from audit_events where event_type = 'gateway.updated' order by id desc limit 1",
    )
    expect(rows[0]?.details).toMatchObject({
      change: 'enforcement',
      level: 'monitor',
      previous: 'full_enforce',
      reason: 'trial',
    })
    expect(
      (await admin('PATCH', '/api/dashboard/gateway', { gateway_id: id, enforcementLevel: 'off' })).status,
    ).toBe(400)
    expect((await admin('PATCH', '/api/dashboard/gateway', { gateway_id: id })).status).toBe(400)
    expect((await admin('PATCH', '/api/dashboard/gateway', { gateway_id: 'gw_none', port: 1 })).status).toBe(
      404,
    )
  })
})

describe('rows from manifests', () => {
  beforeAll(async () => {
    await asAdmin(`
      insert into gateways (id, org_id, name, spec, source, managed_by) select 'gw_m', id, 'team/prod', '{}', 'file', '10-team.yaml' from orgs;
      insert into connectors (id, org_id, name, type, gateway_ids, spec, credential, source, managed_by)
        select 'conn_m', id, 'team/code', 'codehost', '{gw_m}', '{"type":"codehost"}', '{"key_id":"x","nonce":"x","ciphertext":"x"}', 'file', '10-team.yaml' from orgs;
      insert into permissions (id, org_id, gateway_id, connector_type, action_pattern, decision, source, managed_by, owner)
        select 'perm_m', id, 'gw_m', 'codehost', 'codehost.*', 'deny', 'file', '10-team.yaml', 'Permission/team/code' from orgs;
      insert into policies (id, org_id, name, policy_yaml, source, managed_by)
        select 'pol_m', id, 'team/policy', 'rules: [{name: a, decision: allow}]', 'file', '10-team.yaml' from orgs;`)
  })

  test.each<[string, string, unknown?]>([
    ['PATCH', '/api/dashboard/gateway', { gateway_id: 'gw_m', enforcementLevel: 'monitor' }],
    ['POST', '/api/dashboard/gateway', { gateway: { name: 'team/prod', port: 1 }, connectors: [] }],
    ['POST', '/api/dashboard/connectors', { gateway: 'team/prod', type: 'codehost', token: 't' }],
    ['DELETE', '/api/dashboard/connectors?connector_id=conn_m'],
    [
      'POST',
      '/api/dashboard/permissions',
      {
        gateway_name: 'team/prod',
        connector_type: 'codehost',
        action_pattern: 'codehost.*',
        decision: 'allow',
      },
    ],
    ['DELETE', '/api/dashboard/permissions?permission_id=perm_m'],
    ['PATCH', '/api/dashboard/policies', { policy_id: 'pol_m', enabled: false }],
    ['DELETE', '/api/dashboard/policies?policy_id=pol_m'],
  ])('%s %s answers 409 and changes nothing', async (method, path, body) => {
    const before = await dump('gateways', 'connectors', 'permissions', 'policies', 'audit_events')
    expect(await admin(method, path, body)).toMatchObject({
      status: 409,
      body: { error: 'Managed by 10-team.yaml; edit the manifest' },
    })
    expect(await dump('gateways', 'connectors', 'permissions', 'policies', 'audit_events')).toBe(before)
  })

  test('that wait for a credential leave room for a connector of the API', async () => {
    await asAdmin("update connectors set credential = null where id = 'conn_m'")
    const answer = await admin('POST', '/api/dashboard/connectors', {
      gateway: 'team/prod',
      type: 'codehost',
      token: 't',
    })
    expect(answer.status).toBe(200)
    const { body } = await admin('GET', '/api/dashboard/connectors')
    const order = at<{ id: string; type: string }[]>(body, 'connectors').map((row) => row.id)
    expect(order.indexOf(at(answer.body, 'id'))).toBeLessThan(order.indexOf('conn_m'))
  })
})

describe('permissions', () => {
  test('are set, changed under the same id, and removed', async () => {
    const body = {
      gateway_name: 'local',
      connector_type: 'chat',
      action_pattern: 'chat.*',
      decision: 'allow',
    }
    const first = await admin('POST', '/api/dashboard/permissions', body)
    expect(first.body).toMatchObject({ ok: true, id: expect.stringMatching(/^perm_/) })
    const second = await admin('POST', '/api/dashboard/permissions', { ...body, decision: 'deny' })
    expect(at(second.body, 'id')).toBe(at(first.body, 'id'))
    const remove = () => admin('DELETE', `/api/dashboard/permissions?permission_id=${at(first.body, 'id')}`)
    expect((await remove()).body).toEqual({ ok: true })
    expect((await remove()).status).toBe(404)
    expect(
      (await admin('POST', '/api/dashboard/permissions', { ...body, gateway_name: 'nowhere' })).status,
    ).toBe(404)
  })
})

describe('settings', () => {
  test('mask secrets, merge, ignore a mask written back, and forget what is set to nothing', async () => {
    const put = (settings: Record<string, string>) => admin('PUT', '/api/dashboard/settings', { settings })
    expect((await put({ codehost_pat: 'ghp_canary_setting', chat_channel_id: 'C1' })).body).toEqual({
      ok: true,
    })
    const shown = { codehost_pat: '********', chat_channel_id: 'C1' }
    expect((await admin('GET', '/api/dashboard/settings')).body).toEqual({ settings: shown })
    const stored = await dump('settings')
    expect(stored).not.toContain('canary')
    await put({ codehost_pat: '********' })
    expect(await dump('settings')).toBe(stored)
    await put({ codehost_pat: '' })
    expect((await admin('GET', '/api/dashboard/settings')).body).toEqual({
      settings: { chat_channel_id: 'C1' },
    })
    expect((await put({ unknown_key: 'x' })).body).toMatchObject({
      details: 'settings.unknown_key: is not a known field',
    })
  })
})

async function setup(name: string, connectors: readonly unknown[]) {
  return admin('POST', '/api/dashboard/setup', {
    agent: { name, runtime: 'python', environment: 'development' },
    connectors,
  })
}

async function newAgent(name: string): Promise<string> {
  const { body } = await admin('POST', '/api/dashboard/agents', {
    name,
    runtime: 'x',
    environment: 'development',
  })
  return at(body, 'agent_id')
}

async function gatewayId(name: string): Promise<string> {
  const { body } = await admin('GET', '/api/dashboard/gateway')
  return (
    at<{ id: string; name: string }[]>(body, 'gateways').find((gateway) => gateway.name === name)?.id ??
    'none'
  )
}

async function eventsOf(agentId: string): Promise<string[]> {
  const { rows } = await asAdmin(
    `select event_type from audit_events where agent_id = '${agentId}' order by id`,
  )
  return rows.map((row) => row.event_type as string)
}

async function asAdmin(text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: database.adminUrl })
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}

async function dump(...tables: readonly string[]): Promise<string> {
  const results = await Promise.all(
    tables.map((table) => asAdmin(`select row_to_json(t)::text as row from ${table} t order by 1`)),
  )
  return results.flatMap((result) => result.rows.map((row) => row.row as string)).join('\n')
}
