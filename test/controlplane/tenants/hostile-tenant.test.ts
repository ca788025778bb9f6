import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { IS_FULL } from '../../support/proof.ts'
import { at, type Call, caller } from '../routes/start.ts'
import { startTwoTenants, type Things, type TwoTenants } from './two-tenants.ts'

let world: TwoTenants
/** Of the attacker, who wants what is `theirs`. */
let admin: Call
let member: Call
let withKey: Call
let theirs: Things
let own: Things

beforeAll(async () => {
  world = await startTwoTenants()
})
afterAll(() => world?.[Symbol.asyncDispose]())

const D = '/api/dashboard'
type Attempt = readonly [what: string, method: string, path: () => string, body?: () => unknown]

const MISSING_TEXT = '{"rules":[{"name":"r","decision":"allow"}]}'
const KILL_SCOPES = [
  ...['all', '', 'ALL', 'namespace:omega', 'Namespace: OMEGA', 'agent:omega/bot', 'AGENT: Omega/Bot'],
  ...['gateway:omega/main', 'connector:codehost', 'connector:omega/codehost', 'agent:bot', 'bot', 'main'],
  ...[
    'gateway:main',
    'omega/bot',
    'namespace:alpha,omega',
    'namespace:alpha/../omega',
    'namespace:',
    'agent:/bot',
  ],
]

const CHANGES: readonly Attempt[] = [
  ...['suspend', 'activate', 'revoke', 'rotate_key'].map(
    (action): Attempt => [
      `${action} an agent`,
      'PATCH',
      () => `${D}/agents`,
      () => ({ agent_id: theirs.agentId, action }),
    ],
  ),
  [
    'rename an agent',
    'PATCH',
    () => `${D}/agents`,
    () => ({ agent_id: theirs.agentId, name: `${own.namespace}/mine` }),
  ],
  ['take an agent', 'PATCH', () => `${D}/agents`, () => ({ agent_id: theirs.agentId, gateway: own.gateway })],
  [
    'give an agent capabilities',
    'PATCH',
    () => `${D}/agents`,
    () => ({ agent_id: theirs.agentId, capabilities: ['audit:read'] }),
  ],
  [
    'give the own agent capabilities of the installation',
    'PATCH',
    () => `${D}/agents`,
    () => ({ agent_id: own.agentId, capabilities: ['audit:read', 'org:kill_switch'] }),
  ],
  [
    'rename the own agent into the namespace',
    'PATCH',
    () => `${D}/agents`,
    () => ({ agent_id: own.agentId, name: `${theirs.namespace}/spy` }),
  ],
  [
    'move the own agent to the gateway',
    'PATCH',
    () => `${D}/agents`,
    () => ({ agent_id: own.agentId, gateway: theirs.gateway }),
  ],
  [
    'create an agent in the namespace',
    'POST',
    () => `${D}/agents`,
    () => ({ name: `${theirs.namespace}/spy`, runtime: '', environment: 'production' }),
  ],
  [
    'create an agent at the gateway',
    'POST',
    () => `${D}/agents`,
    () => ({
      name: `${own.namespace}/spy`,
      runtime: '',
      environment: 'production',
      gateway: theirs.gatewayId,
    }),
  ],
  [
    'weaken the gateway',
    'PATCH',
    () => `${D}/gateway`,
    () => ({ gateway_id: theirs.gatewayId, enforcementLevel: 'monitor' }),
  ],
  [
    'move the gateway',
    'PATCH',
    () => `${D}/gateway`,
    () => ({ gateway_id: theirs.gatewayId, host: 'evil.test' }),
  ],
  [
    'rename the gateway',
    'PATCH',
    () => `${D}/gateway`,
    () => ({ gateway_id: theirs.gatewayId, name: `${own.namespace}/taken` }),
  ],
  [
    'rename the own gateway to the name',
    'PATCH',
    () => `${D}/gateway`,
    () => ({ gateway_id: own.gatewayId, name: theirs.gateway }),
  ],
  [
    'build a gateway in the namespace',
    'POST',
    () => `${D}/gateway`,
    () => ({ gateway: { name: `${theirs.namespace}/second` }, connectors: [] }),
  ],
  [
    'set up an agent at the gateway',
    'POST',
    () => `${D}/setup`,
    () => ({
      agent: { name: `${own.namespace}/spy`, runtime: '', environment: 'production' },
      connectors: [],
      gateway: { name: theirs.gateway },
    }),
  ],
  ['remove a connector', 'DELETE', () => `${D}/connectors?connector_id=${theirs.dashboardConnectorId}`],
  [
    'remove the connector of a manifest',
    'DELETE',
    () => `${D}/connectors?connector_id=${theirs.connectorId}`,
  ],
  [
    'replace the credential',
    'POST',
    () => `${D}/connectors`,
    () => ({
      type: 'chat',
      token: 'stolen',
      gateway: theirs.gateway,
      domains: [`chat.${theirs.namespace}.test`],
    }),
  ],
  [
    'take the host',
    'POST',
    () => `${D}/connectors`,
    () => ({
      type: 'chat',
      token: 'stolen',
      gateway: own.gateway,
      domains: [`chat.${theirs.namespace}.test`],
    }),
  ],
  ['remove a permission', 'DELETE', () => `${D}/permissions?permission_id=${theirs.dashboardPermissionId}`],
  [
    'remove the permission of a manifest',
    'DELETE',
    () => `${D}/permissions?permission_id=${theirs.permissionId}`,
  ],
  ...['name', 'id'].map(
    (gateway): Attempt => [
      `set a permission at the gateway by its ${gateway}`,
      'POST',
      () => `${D}/permissions`,
      () => ({
        ...{ gateway_name: gateway === 'id' ? theirs.gatewayId : theirs.gateway },
        ...{ connector_type: 'codehost', action_pattern: 'codehost.*', decision: 'allow' },
      }),
    ],
  ),
  ['change a policy', 'PATCH', () => `${D}/policies`, () => ({ policy_id: theirs.policyId, enabled: false })],
  [
    'change the text of a policy',
    'PATCH',
    () => `${D}/policies`,
    () => ({ policy_id: theirs.policyId, policyYaml: MISSING_TEXT }),
  ],
  ['remove a policy', 'DELETE', () => `${D}/policies?policy_id=${theirs.policyId}`],
  [
    'make a policy for everybody',
    'POST',
    () => `${D}/policies`,
    () => ({ name: 'mine', policyYaml: MISSING_TEXT, priority: 1_000_000 }),
  ],
  [
    'import a policy for the gateway',
    'POST',
    () => `${D}/import`,
    () => ({
      version: '1.0',
      policies: [{ name: 'mine', policyYaml: MISSING_TEXT, gateways: [theirs.gateway] }],
      agents: [{ name: `${theirs.namespace}/spy` }],
    }),
  ],
  [
    'import an agent with capabilities',
    'POST',
    () => `${D}/import`,
    () => ({ version: '1.0', agents: [{ name: `${own.namespace}/spy`, capabilities: ['audit:read'] }] }),
  ],
  [
    'invite an accomplice',
    'POST',
    () => `${D}/users`,
    () => ({ action: 'invite', email: 'evil@example.com', role: 'admin' }),
  ],
  ['write settings', 'PUT', () => `${D}/settings`, () => ({ settings: { gateway_url: 'http://evil.test' } })],
  ['make an owner link', 'POST', () => '/api/auth/owner-link', () => ({ required: true })],
  ['become the owner', 'POST', () => '/api/auth/owner', () => ({ setup_token: 'guessed' })],
  ...KILL_SCOPES.flatMap((scope): Attempt[] => [
    [
      `stop ${JSON.stringify(scope)}`,
      'POST',
      () => `${D}/kill-switch`,
      () => ({ active: true, scope: named(scope) }),
    ],
    [
      `lift ${JSON.stringify(scope)}`,
      'POST',
      () => `${D}/kill-switch`,
      () => ({ active: false, scope: named(scope) }),
    ],
  ]),
  ['stop everything by v1', 'POST', () => '/api/v1/org/kill-switch', () => ({ active: true })],
  [
    'stop the namespace by v1',
    'POST',
    () => '/api/v1/org/kill-switch',
    () => ({ active: true, scope: `namespace:${theirs.namespace}` }),
  ],
  ...(['approval', 'actionApproval'] as const).flatMap((which): Attempt[] => [
    [
      `answer the ${which}`,
      'POST',
      () => `${D}/proxy-approvals`,
      () => ({ id: theirs[which], approved: true }),
    ],
    [
      `deny the ${which}`,
      'POST',
      () => `${D}/proxy-approvals`,
      () => ({ id: theirs[which], approved: false, note: 'no' }),
    ],
    [
      `answer the ${which} by v1`,
      'POST',
      () => `/api/v1/approvals/${theirs[which]}/respond`,
      () => ({ decision: 'approve' }),
    ],
  ]),
  ['cancel the action', 'POST', () => `/api/v1/actions/${theirs.action}/cancel`, () => ({})],
]

describe.each([
  ['alpha', 'omega'],
  ['omega', 'alpha'],
] as const)('%s, an admin of a namespace of their own, against %s', (attacker, victim) => {
  beforeAll(async () => {
    own = world.things[attacker]
    theirs = world.things[victim]
    admin = await world.user('admin', [attacker])
    member = await world.user('member', [attacker])
    const key = await admin('POST', '/api/auth/keys', {})
    withKey = caller(world.here.plane.url, { authorization: `Bearer ${at(key.body, 'api_key')}` })
  })

  // Each change once in `npm test`, by one of the two; by both in the nightly run.
  const turn = attacker === 'alpha' ? 0 : 1
  const changes = CHANGES.filter((_, place) => IS_FULL || place % 2 === turn).map(
    ([what, method, path, body = () => undefined]) => ({
      what,
      method,
      path,
      body,
    }),
  )

  test.each(changes)('cannot $what', async ({ method, path, body }) => {
    const before = await world.state(victim)
    for (const call of [admin, member, withKey]) {
      const answer = await call(method, path(), body())
      expect([400, 401, 403, 404, 409], answer.text).toContain(answer.status)
      expect(leaks(answer.text, [path(), JSON.stringify(body() ?? '')])).toEqual([])
      expect(await world.state(victim)).toBe(before)
    }
  })

  const READINGS: ReadonlyArray<readonly [what: string, path: () => string, status?: number]> = [
    ['traffic of the agent', () => `${D}/traffic?agent=${theirs.agent}`],
    ['traffic by text', () => `${D}/traffic?q=${theirs.namespace}`],
    ['traffic of the connector', () => `${D}/traffic?connector=${theirs.connector}`],
    ['all pages of traffic', () => `${D}/traffic?limit=500`],
    ['traffic behind a forged cursor', () => `${D}/traffic?cursor=${cursorAt(theirs.record)}`],
    ['the hosts without connector', () => `${D}/unowned-hosts?limit=500`],
    ['a record', () => `${D}/traffic/${theirs.record}`, 404],
    ['the audit log by text', () => `${D}/audit?q=${theirs.namespace}`],
    ['the audit log of the agent', () => `${D}/audit?agent_id=${theirs.agentId}`],
    ['the audit log of the action', () => `${D}/audit?action_request_id=${theirs.action}`],
    ['the audit log of a type', () => `${D}/audit?event_type=gateway.updated&limit=500`],
    ['the audit log behind a forged cursor', () => `${D}/audit?cursor=999999999&limit=500`],
    ['the export of the audit log', () => `${D}/audit-export`],
    ['the export of the audit log of the agent', () => `${D}/audit-export?agent_id=${theirs.agentId}`],
    ['the evidence of the action', () => `${D}/evidence/${theirs.action}`, 404],
    ['the evidence of the approval', () => `${D}/evidence/${theirs.actionApproval}`, 404],
    ['all approvals', () => `${D}/proxy-approvals?limit=500`],
    ['approvals of a kind', () => `${D}/proxy-approvals?kind=hold&status=pending`],
    ['approvals behind the last', () => `${D}/proxy-approvals?offset=2&limit=500`],
    ['the agents', () => `${D}/agents`],
    ['the gateways', () => `${D}/gateway`],
    ['the connectors', () => `${D}/connectors`],
    ['the permissions', () => `${D}/permissions`],
    ['the permissions of the gateway', () => `${D}/permissions?gateway=${theirs.gateway}`, 404],
    ['the permissions of the gateway by id', () => `${D}/permissions?gateway=${theirs.gatewayId}`, 404],
    ['the policies', () => `${D}/policies`],
    ['the texts of the policy', () => `${D}/policies/${theirs.policyId}/versions`, 404],
    ['the manifests', () => `${D}/manifests`],
    ['the export', () => `${D}/export`],
    ['the export of manifests', () => `${D}/export?format=manifests`],
    ['the overview', () => `${D}/overview`],
    ['the activity', () => `${D}/activity?seconds=604800`],
    ['the effective permissions', () => `${D}/effective-permissions`],
    ['the effective permissions of the agent', () => `${D}/effective-permissions?agent=${theirs.agent}`, 404],
    ['the kill switches', () => `${D}/kill-switch`],
    ['the versions of what changes', () => `${D}/events`],
    ['an explanation for the agent', () => explain({ agent: theirs.agent }), 404],
    [
      'an explanation for the agent at the own gateway',
      () => explain({ agent: theirs.agent, gateway: own.gateway }),
      404,
    ],
    ['an explanation by the gateway', () => explain({ agent: own.agent, gateway: theirs.gateway }), 404],
    [
      'an explanation by the id of the gateway',
      () => explain({ agent: own.agent, gateway: theirs.gatewayId }),
      404,
    ],
    ['an explanation for an agent without a namespace', () => explain({ agent: 'bot' }), 404],
    ['an explanation for every agent', () => explain({ agent: '*' }), 404],
    ['an explanation for an empty namespace', () => explain({ agent: '/bot' }), 404],
    ['a dry run of the agent', () => `${D}/dry-run?agent=${theirs.agent}&action_spec=${SPEC}`, 404],
    ['a probe of the gateway', () => `${D}/test-gateway?url=http://${theirs.namespace}.test:9443`, 400],
    ['the users', () => `${D}/users`, 403],
    ['the settings', () => `${D}/settings`, 403],
  ]

  const readings = READINGS.map(([what, path, status = 200]) => ({ what, path, status }))

  test.each(readings)('reads nothing of another in $what', async ({ path, status }) => {
    for (const call of [admin, member]) {
      const answer = await call('GET', path())
      if (call === admin) expect(answer.status, answer.text).toBe(status)
      expect(leaks(answer.text, [path()])).toEqual([])
    }
  })

  test('replays a policy over the own requests only, whichever policy it names', async () => {
    const body = { policyYaml: MISSING_TEXT, policy_id: theirs.policyId, limit: 500 }
    const [there, nowhere] = [
      await admin('POST', `${D}/policies/replay`, body),
      await admin('POST', `${D}/policies/replay`, { ...body, policy_id: 'pol_nothing' }),
    ]
    expect(leaks(there.text, [theirs.policyId])).toEqual([])
    expect([there.status, there.text]).toEqual([200, nowhere.text])
  })

  test('registers no agent in another namespace by an agent with the capability', async () => {
    const made = await world.here.admin('POST', `${D}/agents`, {
      ...{ name: `${own.namespace}/registrar`, runtime: '', environment: 'production', gateway: own.gateway },
      capabilities: ['agents:register'],
    })
    const agent = caller(world.here.plane.url, { authorization: `Bearer ${at(made.body, 'api_key')}` })
    const register = (name: string) =>
      agent('POST', '/api/v1/agents/register', { name, runtime: 'x', environment: 'production' })
    const before = await world.state(victim)
    for (const name of [
      `${theirs.namespace}/spy`,
      `${theirs.namespace}/bot`,
      `${theirs.namespace.toUpperCase()}/spy`,
      `${own.namespace}-2/spy`,
      'spy',
    ])
      expect([name, (await register(name)).status]).toEqual([name, 403])
    // No name of an agent.
    expect((await register('/spy')).status).toBe(400)
    expect(await world.state(victim)).toBe(before)
    expect((await register(`${own.namespace}/second`)).status).toBe(200)
  })

  test('reads no policy of another namespace with the key of an agent', async () => {
    const made = await world.here.admin('POST', `${D}/agents`, {
      ...{ name: `${own.namespace}/lister`, runtime: '', environment: 'production', gateway: own.gateway },
    })
    const agent = caller(world.here.plane.url, { authorization: `Bearer ${at(made.body, 'api_key')}` })
    const { status, text } = await agent('GET', '/api/v1/policies')
    expect([status, leaks(text, [])]).toEqual([200, []])
    expect(text).toContain(own.policyId)
    expect(text).toContain('default-allow-safe')
  })

  test('reads what is their own by its id', async () => {
    const paths = [`traffic/${own.record}`, `evidence/${own.action}`, `policies/${own.policyId}/versions`]
    for (const path of paths) expect((await admin('GET', `${D}/${path}`)).status, path).toBe(200)
    expect((await admin('GET', explain({ agent: own.agent }))).status).toBe(200)
    expect((await admin('GET', explain({ agent: own.agent, gateway: own.gateway }))).status).toBe(200)
  })
})

const SPEC = encodeURIComponent(
  JSON.stringify({ type: 'codehost.pr.merge', resource: { provider: 'codehost' } }),
)

function explain(given: Readonly<Record<string, string>>): string {
  return `${D}/explain?${new URLSearchParams({ method: 'GET', url: 'https://api.codehost.test/', ...given })}`
}

function cursorAt(id: string): string {
  const time = new Date(Date.now() + 60_000).toISOString()
  return Buffer.from(JSON.stringify([time, id])).toString('base64url')
}

/** A scope of the list, in the names of these two tenants and the same case. */
function named(scope: string): string {
  return scope.replaceAll(/alpha|omega/gi, (word) => {
    const name = word.toLowerCase() === 'alpha' ? own.namespace : theirs.namespace
    if (word === word.toUpperCase()) return name.toUpperCase()
    return word.startsWith('O') ? `${name.slice(0, 1).toUpperCase()}${name.slice(1)}` : name
  })
}

/** Names, texts and ids of the other tenant in an answer, but for those that the caller has sent. */
function leaks(text: string, sent: readonly string[]): string[] {
  const given = sent.map((each) => decodeURIComponent(each)).join(' ')
  const known = Object.values(theirs).filter((each) => given.includes(each))
  const rest = known
    .toSorted((a, b) => b.length - a.length)
    .reduce((left, each) => left.replaceAll(each, ''), text.replaceAll('v1alpha1', ''))
  const found = Object.values(theirs).filter((each) => !known.includes(each) && rest.includes(each))
  const names = given.toLowerCase().includes(theirs.namespace)
    ? []
    : (rest.match(new RegExp(`.{0,40}${theirs.namespace}.{0,40}`, 'i')) ?? [])
  const texts = ['description', ' reason', '-rule', ' runtime', '/path', ' parameter']
  return [
    ...found,
    ...names,
    ...texts.map((each) => `${theirs.namespace}${each}`).filter((each) => rest.includes(each)),
  ]
}
