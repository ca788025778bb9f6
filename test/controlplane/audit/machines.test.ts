import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  ENROL_TOKEN,
  OPERATOR_TOKEN,
  startTestInstallation,
  type TestInstallation,
} from '../routes/installation.ts'
import { at, type Call, caller, register } from '../routes/start.ts'

let here: TestInstallation
let owner: Call

beforeAll(async () => {
  here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  owner = await here.plane.signIn('owner@example.com')
})
afterAll(() => here?.[Symbol.asyncDispose]())

type Row = { event_type: string; user_id: string | null; details: Record<string, unknown> }

async function rows(): Promise<Row[]> {
  return (await here.sql('select event_type, user_id, details from audit_events order by id')) as never
}

const CHANGES: ReadonlyArray<readonly [string, string, unknown]> = [
  ['POST', '/api/dashboard/agents', { name: 'a', runtime: 'x', environment: 'test' }],
  ['POST', '/api/dashboard/connectors', { type: 'codehost', token: 't' }],
  [
    'POST',
    '/api/dashboard/policies',
    { name: 'p', policyYaml: 'scope: { actions: ["x.y"] }\nrules: [{ name: a, decision: deny }]\n' },
  ],
  ['PUT', '/api/dashboard/settings', { settings: { chat_channel_id: 'C1' } }],
  ['POST', '/api/dashboard/users', { action: 'invite', email: 'b@example.com', role: 'member' }],
  ['POST', '/api/dashboard/kill-switch', { active: true, reason: 'drill' }],
  ['POST', '/api/dashboard/kill-switch', { active: false }],
  ['GET', '/api/dashboard/export', undefined],
  ['POST', '/api/v1/org/kill-switch', { active: true }],
  ['POST', '/api/v1/org/kill-switch', { active: false }],
  ['POST', '/api/dashboard/demo-action', { scenario: 1 }],
  ['POST', '/api/auth/logout', {}],
]

test('what the token of the command line does is done by a machine, never by a user of that name', async () => {
  for (const [method, path, body] of CHANGES) {
    const before = (await rows()).length
    const answer = await here.admin(method, path, body)
    expect(answer.status, `${method} ${path}: ${answer.text}`).toBe(200)
    const added = (await rows()).slice(before)
    expect(added.length).toBeGreaterThan(0)
    for (const { user_id } of added) expect(user_id).toBeNull()
    if (path.endsWith('demo-action')) continue
    for (const { details } of added) expect(details['actor']).toEqual({ kind: 'system', name: 'admin-token' })
  }
  const { body } = await here.admin('GET', '/api/dashboard/proxy-approvals?status=pending')
  const id = at(body, 'approvals', 0, 'id')
  const answered = await here.admin('POST', '/api/dashboard/proxy-approvals', { id, approved: true })
  expect(answered.status, answered.text).toBe(200)
  expect((await rows()).find(({ event_type }) => event_type === 'approval.responded')).toMatchObject({
    user_id: null,
    details: { responded_by: 'admin-token', actor: { kind: 'system', name: 'admin-token' } },
  })
  expect(JSON.stringify(await rows())).not.toContain('admin_token')
  expect(JSON.stringify(await here.sql('select answers from approvals'))).not.toContain('admin_token')
})

test('what a person does bears their id, and no machine', async () => {
  const before = (await rows()).length
  await owner('POST', '/api/dashboard/agents', { name: 'b', runtime: 'x', environment: 'test' })
  const [row] = (await rows()).slice(before)
  expect(row).toMatchObject({ event_type: 'agent.registered', user_id: expect.stringMatching(/^usr_/) })
  expect(row?.details).not.toHaveProperty('actor')
})

test('owner guards say which role is needed and which one asked', async () => {
  const { body } = await owner('GET', '/api/dashboard/users')
  const user_id = at(body, 'users', 0, 'id')
  const invited = await owner('POST', '/api/dashboard/users', {
    action: 'invite',
    email: 'a@example.com',
    role: 'admin',
  })
  const invite_token = at(invited.body, 'invite_token')
  const made = await register(here.plane.call, 'a@example.com', { invite_token })
  expect(made.status, made.text).toBe(200)
  const admin = await here.plane.signIn('a@example.com')
  const guarded: ReadonlyArray<readonly [Call, string, object]> = [
    [admin, 'admin', { action: 'change_role', user_id, role: 'member' }],
    [admin, 'admin', { action: 'suspend', user_id }],
    [admin, 'admin', { action: 'invite', email: 'c@example.com', role: 'owner' }],
    [admin, 'admin', { action: 'change_role', user_id: at(made.body, 'user', 'id'), role: 'owner' }],
    [owner, 'owner', { action: 'change_role', user_id, role: 'admin' }],
    [owner, 'owner', { action: 'suspend', user_id }],
    [here.admin, 'owner', { action: 'change_role', user_id, role: 'admin' }],
  ]
  for (const [call, your_role, action] of guarded) {
    const refused = await call('POST', '/api/dashboard/users', action)
    expect(refused).toMatchObject({
      status: 403,
      body: { error: 'Forbidden', required_role: 'owner', your_role },
    })
  }
})

test('a scenario that does not exist is refused by naming those that do', async () => {
  for (const scenario of [3, -1, '1', 1.5, null]) {
    const { status, body } = await owner('POST', '/api/dashboard/demo-action', { scenario })
    expect(status).toBe(400)
    expect(body).toMatchObject({ error: 'Validation failed', details: 'scenario: must be 0, 1 or 2' })
  }
})

test('a gateway never receives the built-in agent', async () => {
  expect((await owner('POST', '/api/dashboard/demo-action', { scenario: 0 })).status).toBe(200)
  const gateway = caller(here.plane.url, { authorization: `Bearer ${ENROL_TOKEN}`, 'x-process-id': 'proc_1' })
  const { body, text } = await gateway('GET', '/api/gateway/sections/agents')
  expect(body, text).not.toContainEqual(expect.objectContaining({ name: 'chaperone-demo' }))
})

test.each(['{"active":', '{"active":true', 'nonsense', '[1,]', '{"a":1}{', "{'a':1}", '\u0000'])(
  'malformed JSON is a failed validation with details: %s',
  async (text) => {
    for (const path of ['/api/auth/login', '/api/v1/tokens/verify']) {
      const answer = await fetch(here.plane.url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: text,
      })
      expect(answer.status).toBe(400)
      expect(await answer.json()).toMatchObject({
        error: 'Validation failed',
        details: 'body: is not valid JSON',
      })
    }
  },
)

describe('changes by machines that are no token of a user', () => {
  type Machine = readonly [
    name: string,
    token: string,
    calls: ReadonlyArray<readonly [string, string, object?]>,
  ]
  const resource = (kind: string, spec: object) => ({
    ...{ uid: `uid-${kind}`, generation: 1, source: 'file', managed_by: '10-machines.yaml' },
    resource: {
      apiVersion: 'chaperone.dev/v1alpha1',
      ...{ kind, metadata: { name: `by-${kind.toLowerCase()}`, namespace: 'default' }, spec },
    },
  })
  const put = (kind: string, spec: object) =>
    ['PUT', `/api/operator/objects/${kind}/default/by-${kind.toLowerCase()}`, resource(kind, spec)] as const
  const remove = (kind: string) =>
    ['DELETE', `/api/operator/objects/${kind}/default/by-${kind.toLowerCase()}`] as const
  const command = (name: string, body: object) =>
    ['POST', '/api/gateway/commands', { command: name, input: body }] as const
  const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }]
  const policy = { scope: { actions: ['x.y'] }, rules: [{ name: 'a', decision: 'deny' }] }
  const MACHINES: readonly Machine[] = [
    [
      'operator',
      OPERATOR_TOKEN,
      [
        put('Gateway', { enforcementLevel: 'full_enforce' }),
        put('Connector', {
          type: 'generic',
          domains: ['tickets.example.com'],
          gatewayRefs: [{ name: 'by-gateway' }],
        }),
        put('Permission', { gatewayRefs: [{ name: 'by-gateway' }], agents: ['*'], rules }),
        put('Policy', policy),
        ...['Policy', 'Permission', 'Connector', 'Gateway'].map(remove),
      ],
    ],
    [
      'gateway:default/local',
      ENROL_TOKEN,
      [
        command('agents.register', { name: 'by-gateway' }),
        command('connectors.add', { type: 'payments', token: 't' }),
        command('permissions.set', {
          ...{
            gateway_name: 'local',
            connector_type: 'payments',
            action_pattern: 'payments.*',
            decision: 'allow',
          },
        }),
        command('enforcement', { level: 'monitor' }),
        command('kill-switch', { active: true, reason: 'drill', scope: 'agent:by-gateway' }),
        command('kill-switch', { active: false, scope: 'agent:by-gateway' }),
      ],
    ],
  ]

  test.each(MACHINES)('every event of %s names it', async (name, token, calls) => {
    const machine = caller(here.plane.url, { authorization: `Bearer ${token}`, 'x-process-id': 'proc_1' })
    for (const [method, path, body] of calls) {
      const before = (await rows()).length
      const answer = await machine(method, path, body)
      expect(answer.status, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`).toBe(200)
      const added = (await rows()).slice(before)
      expect(added.length, `${method} ${path}: ${answer.text}`).toBeGreaterThan(0)
      for (const row of added)
        expect(row, path).toMatchObject({ user_id: null, details: { actor: { kind: 'system', name } } })
    }
  })

  test('so do those of the installation itself, and of sign-ins with unknown addresses', async () => {
    await here.plane.call('POST', '/api/auth/login', {
      email: 'nobody@example.com',
      password: 'wrong-password',
    })
    const named = await here.sql(
      'select event_type from audit_events where agent_id is null and user_id is null and not details ? $1',
      ['actor'],
    )
    expect(named).toEqual([])
    const created = (await rows()).filter(({ event_type }) => event_type === 'policy.created')
    expect(created[0]?.details['actor']).toEqual({ kind: 'system', name: 'installation' })
  })
})
