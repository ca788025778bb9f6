import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Operation, readOperations } from '../../openapi/document.ts'
import { ENROL_TOKEN, startTestInstallation, type TestInstallation } from '../../routes/installation.ts'
import { at, type Call, caller, register } from '../../routes/start.ts'

/** Writes that still admit the token of the command line, for some of their inputs. */
const ADMITTED = [
  'PATCH /api/dashboard/agents',
  'PATCH /api/dashboard/gateway',
  'POST /api/auth/owner-link',
  'POST /api/dashboard/agents',
  'POST /api/dashboard/kill-switch',
  'POST /api/v1/org/kill-switch',
]

let here: TestInstallation
let writes: readonly Operation[]
let owner: Call
let agentId: string

const create = (name: string, more: object = {}) =>
  here.admin('POST', '/api/dashboard/agents', { name, runtime: 'test', environment: 'development', ...more })

beforeAll(async () => {
  // An empty value is the default.
  here = await startTestInstallation({ APPROVALS: '' })
  writes = (await readOperations(here.plane.call)).filter(
    ({ method, security }) => method !== 'GET' && security.includes('session'),
  )
})
afterAll(() => here?.[Symbol.asyncDispose]())

test('without an owner the token of the command line changes rules and answers approvals', async () => {
  agentId = at((await create('first')).body, 'agent_id')
  for (const [path, body] of [
    ['/api/dashboard/proxy-approvals', { id: 'apv_nothing', approved: true }],
    ['/api/dashboard/permissions', {}],
    ['/api/dashboard/policies', {}],
  ] as const)
    expect([400, 404]).toContain((await here.admin('POST', path, body)).status)
})

/** Credentials that a governed program could create before the owner registers, and use afterwards. */
test.each([
  ['POST', '/api/dashboard/users', { action: 'invite', email: 'agent@example.com', role: 'owner' }],
  ['POST', '/api/dashboard/users', { action: 'invite', email: 'agent@example.com', role: 'viewer' }],
  ['PUT', '/api/dashboard/settings', { settings: { chat_signing_secret: 'x'.repeat(32) } }],
  ['PUT', '/api/dashboard/settings', { settings: { chat_bot_token: 'xoxb-agent', chat_channel_id: 'C1' } }],
])('it cannot create access without an owner either: %s %s %j', async (method, path, body) => {
  const answer = await here.admin(method, path, body)
  expect([answer.status, at(answer.body, 'restriction')]).toEqual([403, 'machine_token'])
  expect(at(answer.body, 'message')).toMatch(/without an owner, chaperone owner-link prints the link/)
})

describe('once there is an owner, the token of the command line', () => {
  beforeAll(async () => {
    await register(here.plane.call, 'owner@example.com')
    owner = await here.plane.signIn('owner@example.com')
  })

  test('is refused on every other write of the OpenAPI document, with the remedy', async () => {
    const before = await here.sql('select count(*)::int as events from audit_events')
    const admitted: string[] = []
    for (const operation of writes) {
      const path = operation.path.replaceAll(/\{\w+\}/g, 'nothing')
      const { status, body } = await here.admin(operation.method, path, {})
      if (status === 403 && at(body, 'restriction') === 'machine_token')
        expect(at(body, 'message')).toMatch(/chaperone login/)
      else admitted.push(`${operation.method} ${operation.path}`)
    }
    expect(admitted.sort()).toEqual(ADMITTED)
    expect(await here.sql('select count(*)::int as events from audit_events')).toEqual(before)
  })

  test('is refused reads of secrets', async () => {
    const path = '/api/dashboard/settings/webhook-secret'
    const refused = await here.admin('GET', path)
    expect([refused.status, at(refused.body, 'restriction')]).toEqual([403, 'machine_token'])
    expect(refused.text).not.toContain('whsec_')
    expect((await owner('GET', path)).status).toBe(200)
  })

  test('reads, activates the kill switch and lifts nothing', async () => {
    expect((await here.admin('GET', '/api/dashboard/proxy-approvals')).status).toBe(200)
    for (const path of ['/api/dashboard/kill-switch', '/api/v1/org/kill-switch']) {
      const killSwitch = { scope: 'agent:first', reason: 'test' }
      expect((await here.admin('POST', path, { ...killSwitch, active: true })).status).toBe(200)
      expect((await here.admin('POST', path, { ...killSwitch, active: false })).status).toBe(403)
      expect(
        (await owner('POST', '/api/dashboard/kill-switch', { ...killSwitch, active: false })).status,
      ).toBe(200)
    }
  })

  test.each([
    [{ action: 'activate' }, 403],
    [{ capabilities: ['org:kill_switch'] }, 403],
    [{ gateway: 'default/local' }, 403],
    [{ name: 'other' }, 403],
    [{ environment: 'production' }, 403],
    [{ action: 'suspend' }, 200],
    [{ action: 'rotate_key' }, 200],
  ])('changes an agent by %j with %i', async (change, status) => {
    const answer = await here.admin('PATCH', '/api/dashboard/agents', { agent_id: agentId, ...change })
    expect([answer.status, at(answer.body, 'restriction')]).toEqual([
      status,
      status === 403 ? 'machine_token' : undefined,
    ])
  })

  test('creates agents, without capabilities and another gateway', async () => {
    expect((await create('second')).status).toBe(200)
    for (const more of [{ capabilities: ['org:kill_switch'] }, { gateway: 'default/local' }])
      expect((await create('third', more)).status).toBe(403)
  })

  test('records the address of a gateway and changes none of its rules', async () => {
    const { body } = await here.admin('GET', '/api/dashboard/gateway')
    const gateway_id = at(body, 'gateways', 0, 'id')
    const change = (fields: object) =>
      here.admin('PATCH', '/api/dashboard/gateway', { gateway_id, ...fields })
    expect((await change({ host: '127.0.0.1', port: 9_000 })).status).toBe(200)
    expect((await change({ enforcementLevel: 'monitor' })).status).toBe(403)
    expect((await change({ host: '127.0.0.1', enforcementLevel: 'monitor' })).status).toBe(403)
  })

  test('has no substitute in the token of the gateway, whose internal API cannot answer approvals', async () => {
    const gateway = caller(here.plane.url, {
      authorization: `Bearer ${ENROL_TOKEN}`,
      'x-process-id': 'proc_test',
    })
    const input = { id: 'apv_nothing', approved: true, by: 'agent' }
    const { body } = await gateway('POST', '/api/gateway/commands', { command: 'approvals.respond', input })
    expect(body).toMatchObject({ status: 403, body: { error: 'Forbidden' } })
    expect(at(body, 'body', 'message')).toMatch(/chaperone login/)
  })
})

test('in the mode token it changes rules even with an owner', async () => {
  const lenient = await here.another({ APPROVALS: 'token' })
  const admin = caller(lenient.url, { authorization: `Bearer ${here.adminToken}` })
  expect(
    (await admin('PUT', '/api/dashboard/settings', { settings: { chat_channel_id: 'C2' } })).status,
  ).toBe(200)
  expect(
    (await here.admin('PUT', '/api/dashboard/settings', { settings: { chat_channel_id: 'C3' } })).status,
  ).toBe(403)
})
