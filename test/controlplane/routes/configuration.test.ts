import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ConfigurationWorld, startConfigurationWorld } from './configuration-world.ts'
import { at } from './start.ts'

let world: ConfigurationWorld
beforeAll(async () => {
  world = await startConfigurationWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

describe('a connector whose bodies are opaque', () => {
  test('says so in the list; one that does not say so has none', async () => {
    const fields = { type: 'generic', token: 't', domains: ['files.example.test'] }
    const listed = async () => {
      const { body } = await world.admin('GET', '/api/dashboard/connectors')
      const rows = at<{ domains: string[]; bodies: unknown }[]>(body, 'connectors')
      return rows.find(({ domains }) => domains.includes('files.example.test'))?.bodies
    }
    expect((await world.admin('POST', '/api/dashboard/connectors', fields)).status).toBe(200)
    expect(await listed()).toBeNull()
    const opaque = { ...fields, bodies: 'opaque' }
    expect((await world.admin('POST', '/api/dashboard/connectors', opaque)).status).toBe(200)
    expect(await listed()).toBe('opaque')
    const other = { ...fields, bodies: 'anything' }
    expect((await world.admin('POST', '/api/dashboard/connectors', other)).status).toBe(400)
  })
})

describe('an MCP connector', () => {
  const fields = { type: 'mcp', token: 't', domains: ['tools.endpoint.test'] }
  const listed = async () => {
    const { body } = await world.admin('GET', '/api/dashboard/connectors')
    const rows = at<{ domains: string[]; endpoint: unknown; warnings: string[] }[]>(body, 'connectors')
    return rows.find(({ domains }) => domains.includes('tools.endpoint.test'))
  }

  test('without an endpoint is listed with a warning, and keeps the endpoint that it gets', async () => {
    expect((await world.admin('POST', '/api/dashboard/connectors', fields)).status).toBe(200)
    expect(await listed()).toMatchObject({ endpoint: null, warnings: [expect.stringContaining('endpoint')] })
    const named = { ...fields, endpoint: ['/mcp'] }
    expect((await world.admin('POST', '/api/dashboard/connectors', named)).status).toBe(200)
    expect(await listed()).toMatchObject({ endpoint: ['/mcp'], warnings: [] })
    expect((await world.admin('POST', '/api/dashboard/connectors', { ...fields, token: 'u' })).status).toBe(
      200,
    )
    expect(await listed()).toMatchObject({ endpoint: ['/mcp'], warnings: [] })
  })

  test.each([[['mcp']], [['/a b']], [['/a?b']], [['/a/../b']], [['/%6dcp']], [['//x']], [[]], ['/mcp']])(
    'with the endpoint %j is refused',
    async (endpoint) => {
      const answer = await world.admin('POST', '/api/dashboard/connectors', { ...fields, endpoint })
      expect(answer.status).toBe(400)
      expect(answer.text).toContain('endpoint')
    },
  )

  test('of another type has none', async () => {
    const body = { ...fields, type: 'generic', endpoint: ['/mcp'] }
    const answer = await world.admin('POST', '/api/dashboard/connectors', body)
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining('type mcp only')])
  })
})

describe('rows from manifests', () => {
  beforeAll(async () => {
    await world.asAdmin(`
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
    const before = await world.dump('gateways', 'connectors', 'permissions', 'policies', 'audit_events')
    expect(await world.admin(method, path, body)).toMatchObject({
      status: 409,
      body: { error: 'Managed by 10-team.yaml; edit the manifest' },
    })
    expect(await world.dump('gateways', 'connectors', 'permissions', 'policies', 'audit_events')).toBe(before)
  })

  test('that wait for a credential leave room for a connector of the API', async () => {
    await world.asAdmin("update connectors set credential = null where id = 'conn_m'")
    const answer = await world.admin('POST', '/api/dashboard/connectors', {
      gateway: 'team/prod',
      type: 'codehost',
      token: 't',
    })
    expect(answer.status).toBe(200)
    const { body } = await world.admin('GET', '/api/dashboard/connectors')
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
    const first = await world.admin('POST', '/api/dashboard/permissions', body)
    expect(first.body).toMatchObject({ ok: true, id: expect.stringMatching(/^perm_/) })
    const second = await world.admin('POST', '/api/dashboard/permissions', { ...body, decision: 'deny' })
    expect(at(second.body, 'id')).toBe(at(first.body, 'id'))
    const remove = () =>
      world.admin('DELETE', `/api/dashboard/permissions?permission_id=${at(first.body, 'id')}`)
    expect((await remove()).body).toEqual({ ok: true })
    expect((await remove()).status).toBe(404)
    expect(
      (await world.admin('POST', '/api/dashboard/permissions', { ...body, gateway_name: 'nowhere' })).status,
    ).toBe(404)
  })
})

describe('settings', () => {
  test('mask secrets, merge, ignore a mask written back, and delete what is set to null', async () => {
    const put = (settings: Record<string, string>) =>
      world.admin('PUT', '/api/dashboard/settings', { settings })
    expect((await put({ codehost_pat: 'ghp_canary_setting', chat_channel_id: 'C1' })).body).toEqual({
      ok: true,
    })
    const shown = { codehost_pat: '********', chat_channel_id: 'C1' }
    expect((await world.admin('GET', '/api/dashboard/settings')).body).toEqual({ settings: shown })
    const stored = await world.dump('settings')
    expect(stored).not.toContain('canary')
    await put({ codehost_pat: '********' })
    expect(await world.dump('settings')).toBe(stored)
    await put({ codehost_pat: '' })
    expect((await world.admin('GET', '/api/dashboard/settings')).body).toEqual({
      settings: { chat_channel_id: 'C1' },
    })
    expect((await put({ unknown_key: 'x' })).body).toMatchObject({
      details: 'settings.unknown_key: is not a known field',
    })
  })
})
