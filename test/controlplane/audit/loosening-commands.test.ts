import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ENROL_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { type Call, caller, register } from '../routes/start.ts'

let here: TestInstallation
let owner: Call
let gateway: Call

beforeAll(async () => {
  here = await startTestInstallation({ APPROVALS: 'session' })
  gateway = caller(here.plane.url, { authorization: `Bearer ${ENROL_TOKEN}`, 'x-process-id': 'proc_1' })
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function command(
  name: string,
  input: object,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const answer = await gateway('POST', '/api/gateway/commands', { command: name, input })
  expect(answer.status, answer.text).toBe(200)
  return answer.body as never
}

const rule = (action_pattern: string, decision: string, agent?: string) => ({
  ...{ gateway_name: 'local', connector_type: 'codehost', action_pattern, decision },
  ...(agent === undefined ? {} : { agent }),
})

async function state() {
  const tables = ['permissions', 'connectors', 'kill_switches', 'gateways']
  const found = await Promise.all(tables.map((table) => here.sql(`select * from ${table} order by 1`)))
  return JSON.stringify(found)
}

test('without an owner the token of the internal API does everything', async () => {
  expect(await command('permissions.set', rule('codehost.pr.*', 'allow'))).toMatchObject({ status: 200 })
  expect(await command('permissions.set', rule('codehost.issue.*', 'deny'))).toMatchObject({ status: 200 })
  expect(await command('enforcement', { level: 'full_enforce' })).toMatchObject({ status: 200 })
  const added = await command('connectors.add', { type: 'codehost', token: 'ghp_1' })
  expect(added).toMatchObject({ status: 200 })
  await register(here.plane.call, 'owner@example.com')
  owner = await here.plane.signIn('owner@example.com')
})

describe('while approvals require a session', () => {
  const LOOSENING: ReadonlyArray<readonly [string, object]> = [
    ['permissions.set', rule('codehost.*', 'allow')],
    ['permissions.set', rule('codehost.pr.merge', 'allow')],
    ['permissions.set', rule('codehost.pr.merge', 'allow', 'dev')],
    ['permissions.set', rule('codehost.issue.*', 'allow')],
    ['permissions.set', rule('codehost.issue.*', 'require_approval')],
    ['permissions.set', rule('codehost.issue.create', 'require_approval')],
    ['permissions.set', rule('codehost.pr.*', 'require_approval', 'dev')],
    ['permissions.set', { ...rule('codehost.pr.merge', 'allow'), gateway_name: 'default/local' }],
    ['connectors.add', { type: 'codehost', token: 'ghp_2' }],
    ['connectors.add', { type: 'payments', token: 'sk' }],
    [
      'connectors.add',
      { type: 'mcp', token: 'x', domains: ['mcp.example.com'], base_url: 'https://mcp.example.com' },
    ],
    [
      'connectors.add',
      { type: 'codehost', token: 'x', base_url: 'http://127.0.0.1:1', allow_private_addresses: true },
    ],
    ['enforcement', { level: 'monitor' }],
    ['enforcement', { level: 'enforce_high_risk' }],
    ['enforcement', { level: 'monitor', reason: 'maintenance' }],
    ['kill-switch', { active: false }],
    ['kill-switch', { active: false, scope: 'all' }],
    ['kill-switch', { active: false, scope: 'agent:dev' }],
    ['approvals.respond', { id: 'apv_1', approved: true, by: 'owner@example.com' }],
  ]

  test.each(LOOSENING)('%s %j is refused, changes nothing, and names the remedy', async (name, input) => {
    await command('kill-switch', { active: true, scope: 'agent:dev', reason: 'test' })
    const before = await state()
    const { status, body } = await command(name, input)
    expect([status, body['message'] ?? body['details']]).toEqual([
      403,
      expect.stringContaining('chaperone login'),
    ])
    expect(await state()).toBe(before)
  })

  test('connectors.remove is refused: hosts of no Connector may pass', async () => {
    const [row] = await here.sql('select id from connectors')
    const { status } = await command('connectors.remove', { id: row?.['id'] })
    expect(status).toBe(403)
    expect(await here.sql('select id from connectors')).toHaveLength(1)
  })

  test.each<readonly [string, object]>([
    ['permissions.set', rule('codehost.branch.delete', 'deny')],
    ['permissions.set', rule('codehost.pr.*', 'require_approval')],
    ['permissions.set', rule('codehost.pr.*', 'require_approval')],
    ['permissions.set', rule('codehost.pr.*', 'deny')],
    ['permissions.set', rule('codehost.*', 'deny', 'dev')],
    ['enforcement', { level: 'full_enforce' }],
    ['kill-switch', { active: true, reason: 'x' }],
    ['agents.register', { name: 'other' }],
  ])('%s %j, which does not loosen, is possible', async (name, input) => {
    expect(await command(name, input)).toMatchObject({ status: 200 })
  })

  test('a person raises the level in steps through the internal API, and lowers it with a session only', async () => {
    await here.sql(`update gateways set spec = jsonb_set(spec, '{enforcementLevel}', '"monitor"')`)
    for (const level of ['monitor', 'enforce_high_risk', 'full_enforce'])
      expect(await command('enforcement', { level })).toMatchObject({ status: 200, body: { level } })
    expect(await command('enforcement', { level: 'enforce_high_risk' })).toMatchObject({ status: 403 })
    const lifted = await owner('POST', '/api/dashboard/kill-switch', { active: false })
    expect(lifted.status).toBe(200)
  })
})
