import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type Call, caller } from '../routes/start.ts'
import { ALLOWED } from '../v1/world.ts'
import { startTwoTenants, type TwoTenants } from './two-tenants.ts'

const STOP = '/api/v1/org/kill-switch'
const CAPABILITIES = ['audit:read', 'org:kill_switch']
let world: TwoTenants
/** With every capability: of the tenant, of the other one, and of no namespace. */
let own: Call
let other: Call
let everywhere: Call

beforeAll(async () => {
  world = await startTwoTenants()
  own = await agent('alpha/warden', 'alpha/main')
  other = await agent('omega/warden', 'omega/main')
  everywhere = await agent('warden')
})
afterAll(() => world?.[Symbol.asyncDispose]())

async function agent(name: string, gateway?: string): Promise<Call> {
  const given = { name, runtime: '', environment: 'test', capabilities: CAPABILITIES }
  const { body } = await world.here.admin('POST', '/api/dashboard/agents', { ...given, gateway })
  return caller(world.here.plane.url, { authorization: `Bearer ${at(body, 'api_key')}` })
}

async function stopped(): Promise<object[]> {
  const { body } = await world.here.admin('GET', '/api/dashboard/kill-switch')
  return (body['effective'] as Record<string, unknown>[]).map(({ scope, source }) => ({ scope, source }))
}

const decisionOf = async (call: Call) =>
  at((await call('POST', '/api/v1/actions', { action_spec: ALLOWED })).body, 'decision', 'reason')

test('an agent of a namespace with audit:read reads the events of its namespace', async () => {
  const { body, text } = await own('GET', '/api/v1/audit/events?limit=500')
  expect(text).not.toMatch(/omega/)
  expect(text).toContain(world.things.alpha.agentId)
  const [row] = await world.here.sql("select count(*) as n from audit_events where namespace = 'alpha'")
  expect(body['total']).toBe(Number(at(row, 'n')))
  const types = (body['events'] as Record<string, unknown>[]).map((event) => event['event_type'])
  // Of its manifests, too, not only of agents.
  expect(types).toContain('policy.created')
  const all = await everywhere('GET', '/api/v1/audit/events?limit=500')
  expect([all.text.includes('omega'), all.text.includes('alpha')]).toEqual([true, true])
})

test('the events of an action of the v1 API belong to the namespace of its agent', async () => {
  const { body } = await own('POST', '/api/v1/actions', { action_spec: ALLOWED })
  const id = at(body, 'action_request_id')
  const read = async (call: Call) => {
    const reply = await call('GET', '/api/v1/audit/events?limit=500')
    const events = reply.body['events'] as Record<string, unknown>[]
    return events.filter((event) => event['action_request_id'] === id).map((event) => event['event_type'])
  }
  expect((await read(own)).sort()).toEqual(['action.denied', 'action.requested'])
  expect(await read(other)).toEqual([])
})

test.each([[{}], [{ scope: 'all' }], [{ scope: ' ALL ' }]])(
  'a kill switch of an agent for everything (%j) covers its namespace, and its lift only that',
  async (scope) => {
    const on = await own('POST', STOP, { active: true, reason: 'runaway', ...scope })
    expect([on.status, on.body]).toEqual([
      200,
      {
        kill_switch: true,
        warning:
          'The scope all was limited to namespace:alpha, because agent alpha/warden is of this namespace.',
      },
    ])
    expect(await stopped()).toEqual([{ scope: 'namespace:alpha', source: 'api:alpha' }])
    expect(await decisionOf(own)).toBe('Kill switch active: runaway')
    for (const call of [other, everywhere]) expect(await decisionOf(call)).not.toMatch(/Kill switch/)
    // Neither another tenant nor the installation's own agent is its source.
    expect((await other('POST', STOP, { active: false, ...scope })).body).toMatchObject({
      kill_switch: false,
    })
    expect(await stopped()).toHaveLength(1)
    expect((await own('POST', STOP, { active: false, ...scope })).body).toMatchObject({ kill_switch: false })
    expect(await stopped()).toEqual([])
  },
)

test('an agent of a namespace lifts nothing that others stopped', async () => {
  await everywhere('POST', STOP, { active: true, reason: 'everything' })
  expect((await own('POST', STOP, { active: false })).body).toMatchObject({ kill_switch: true })
  expect(await stopped()).toEqual([{ scope: 'all', source: 'api' }])
  await everywhere('POST', STOP, { active: false })
  await world.here.admin('POST', '/api/dashboard/kill-switch', { active: true, scope: 'namespace:alpha' })
  expect((await own('POST', STOP, { active: false })).body).toMatchObject({ kill_switch: true })
  await world.here.admin('POST', '/api/dashboard/kill-switch', { active: false, scope: 'namespace:alpha' })
  expect(await stopped()).toEqual([])
})

test.each([
  ...['namespace:omega', 'Namespace: OMEGA', 'agent:omega/bot', 'AGENT: Omega/Bot', 'gateway:omega/main'],
  ...[
    'connector:codehost',
    'connector:alpha/codehost',
    'connector:omega/codehost',
    'agent:bot',
    'bot',
    'main',
  ],
  ...['omega/bot', 'alpha/bot', 'gateway:main', 'namespace:alpha,omega', 'namespace:alpha/../omega'],
  ...['agent:/bot', 'agent:alpha', 'namespace:alph', 'namespace:alphaa', 'gateway:alpha'],
])('an agent of a namespace is refused the scope %s, whatever bears it', async (scope) => {
  const fresh = await agent(`alpha/asks-${scope.replaceAll(/[^a-z]/gi, '-')}`, 'alpha/main')
  for (const active of [true, false]) {
    const { status, text } = await fresh('POST', STOP, { active, scope, reason: 'x' })
    expect([scope, status]).toEqual([scope, 403])
    expect(text).toContain('namespace:alpha')
    // Of the caller's own name and its namespace only.
    expect(text.replaceAll(/alpha\/asks-\S+/g, '')).not.toMatch(/omega/i)
  }
  expect(await stopped()).toEqual([])
})

test.each([
  'namespace:alpha',
  'NAMESPACE:Alpha',
  'agent:alpha/bot',
  'gateway:alpha/main',
  'agent:alpha/none',
])('an agent of a namespace stops and lifts %s, and learns no name of another tenant', async (scope) => {
  const { status, body, text } = await own('POST', STOP, { active: true, scope, reason: 'x' })
  expect([status, body['kill_switch']]).toEqual([200, true])
  expect(text).not.toMatch(/omega/)
  expect(await stopped()).toEqual([{ scope: scope.toLowerCase(), source: 'api:alpha' }])
  await own('POST', STOP, { active: false, scope })
  expect(await stopped()).toEqual([])
})
