import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { OPERATOR_TOKEN, startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, type Call, caller, register } from '../routes/start.ts'

const D = '/api/dashboard'
const NAMES = ['landlord', 'lodger'] as const
type Name = (typeof NAMES)[number]
let here: TestInstallation
let users: Readonly<Record<Name, Call>>

/** A Gateway of `landlord` that admits everything of `lodger`, and one request of an agent of each through it. */
beforeAll(async () => {
  here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  const from = { from: 'All' }
  await apply('Gateway', 'landlord', 'shared', {
    allowedNamespaces: { agents: from, connectors: from, permissions: from, policies: from },
  })
  const gatewayRefs = [{ name: 'shared', namespace: 'landlord' }]
  for (const name of NAMES) {
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }]
    await apply('Permission', name, `${name}-rules`, { gatewayRefs, agents: ['bot'], rules })
    await apply('Policy', name, `${name}-guard`, {
      ...{ gatewayRefs, description: `${name} description`, scope: { actions: ['codehost.branch.delete'] } },
      rules: [{ name: `${name}-rule`, decision: 'deny' }],
    })
    const domains = [`api.${name}.test`]
    const auth = { type: 'none' }
    await apply('Connector', name, `${name}-connector`, { type: 'generic', auth, domains, gatewayRefs })
    const agent = { name: `${name}/bot`, runtime: `${name} runtime`, environment: 'production' }
    await here.admin('POST', `${D}/agents`, { ...agent, gateway: 'landlord/shared' })
  }
  await store(NAMES.map((name, seq) => recordOf(name, seq)))
  for (const name of NAMES)
    await here.sql(
      `insert into approvals (id, org_id, kind, agent, gateway_id, card, expires_at)
       select $1, orgs.id, 'hold', $2, gateways.id, $3, clock_timestamp() + interval '1 hour'
       from orgs, gateways where gateways.name = 'landlord/shared'`,
      [
        `apv_${name}`,
        `${name}/bot`,
        JSON.stringify({ action_type: 'a.b', connector: name, parameters: {}, risk_factors: [] }),
      ],
    )
  users = { landlord: await admin('landlord'), lodger: await admin('lodger') }
})
afterAll(() => here?.[Symbol.asyncDispose]())

async function apply(kind: string, namespace: string, name: string, spec: object): Promise<void> {
  const operator = caller(here.plane.url, { authorization: `Bearer ${OPERATOR_TOKEN}` })
  const { text, body } = await operator('PUT', `/api/operator/objects/${kind}/${namespace}/${name}`, {
    ...{ uid: `${kind}-${name}`, generation: 1, source: 'kubernetes' },
    managed_by: `kubernetes ${kind} ${namespace}/${name}`,
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
  })
  if (body['accepted'] !== true) throw new Error(text)
}

function recordOf(name: Name, seq: number) {
  return {
    ...{ id: `rec_${name}`, seq, process_id: `proc_${name}`, time: new Date().toISOString() },
    ...{ gateway: 'landlord/shared', agent: `${name}/bot`, connector: `${name}/${name}-connector` },
    ...{ action_type: 'generic.request', decision: 'DENY', would: null, note: null, reason: 'permission' },
    ...{ approval_id: null, act_id: null, method: 'PUT', host: `api.${name}.test`, path: `/${name}/path` },
    ...{ status: 403, error_type: null, latency_ms: 1, overhead_ms: 1, bytes_in: 0, bytes_out: 0 },
    ...{ permission: null, policies: [], snapshot_version: 1, transport: 'forward' },
  }
}

async function store(records: readonly object[]): Promise<void> {
  const [org] = await here.sql('select id from orgs')
  const query = async (text: string, values: readonly unknown[] = []) => {
    const rows = await here.sql(text, [...values])
    return { rows, rowCount: rows.length }
  }
  await insertTraffic({ query } as never, at(org, 'id'), records as unknown as TrafficRecord[])
}

async function admin(namespace: Name): Promise<Call> {
  const email = `${namespace}@example.com`
  const { body } = await here.admin('POST', `${D}/users`, { action: 'invite', email, role: 'admin' })
  await register(here.plane.call, email, { invite_token: at(body, 'invite_token') })
  await here.sql('update users set namespaces = $2 where email = $1', [email, [namespace]])
  return here.plane.signIn(email)
}

const PATHS = [
  ...[
    'overview',
    'activity?seconds=3600',
    'traffic?limit=500',
    'unowned-hosts?limit=500',
    'audit?limit=500',
    'audit-export',
    'agents',
  ],
  ...['gateway', 'connectors', 'permissions', 'policies', 'manifests', 'export', 'export?format=manifests'],
  ...['proxy-approvals?limit=500', 'kill-switch', 'users', 'settings'],
]

test.each([...PATHS, 'effective-permissions', 'effective-permissions?type=generic'])(
  'the owner of a Gateway reads nothing of its guest in %s',
  async (path) => {
    const { text } = await users.landlord('GET', `${D}/${path}`)
    expect(text.replaceAll('lodger@example.com', '')).not.toMatch(/lodger/)
  },
)

test.each(PATHS)(
  'a guest reads nothing of the owner of its Gateway in %s but the name of the Gateway',
  async (path) => {
    const { text } = await users.lodger('GET', `${D}/${path}`)
    const rest = text.replaceAll('landlord/shared', '').replaceAll(/name: shared\s+namespace: landlord/g, '')
    expect(rest).not.toMatch(/landlord/)
  },
)

test('a guest reads in its effective permissions no Connector of the owner, and which rules decide, as in refusals', async () => {
  const read = async (name: Name) => {
    const path = `${D}/effective-permissions?type=generic&agent=${name}/bot`
    return (await users[name]('GET', path)).body
  }
  const guest = await read('lodger')
  expect([guest['gateway'], guest['connectors']]).toEqual(['landlord/shared', ['lodger/lodger-connector']])
  expect((await read('landlord'))['connectors']).toEqual(['landlord/landlord-connector'])
})

test('a probe of a gateway names the types of connectors that the caller may see', async () => {
  const health = { status: 'ok', uptime_seconds: 5, agents: 2, connectors: ['chat', 'generic', 'mcp'] }
  await using gateway = await answering(JSON.stringify(health))
  await here.sql("update gateways set host = '127.0.0.1', port = $1 where name = 'landlord/shared'", [
    gateway.port,
  ])
  const url = encodeURIComponent(`http://127.0.0.1:${gateway.port}`)
  const probe = async (call: Call) => (await call('GET', `${D}/test-gateway?url=${url}`)).body['connectors']
  expect(await probe(here.admin)).toEqual(['chat', 'generic', 'mcp'])
  expect(await probe(users.landlord)).toEqual(['generic'])
})

async function answering(body: string): Promise<AsyncDisposable & { readonly port: number }> {
  const server = createServer((_, response) => response.end(body))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { port, [Symbol.asyncDispose]: () => new Promise((resolve) => server.close(() => resolve())) }
}

test.each(NAMES)(
  '%s sees the requests, approvals and objects of its own, through the Gateway that they share',
  async (name) => {
    const read = async (path: string) => (await users[name]('GET', `${D}/${path}`)).text
    expect(await read('traffic')).toContain(`rec_${name}`)
    expect(await read(`traffic/rec_${name}`)).toContain(`/${name}/path`)
    expect(await read('proxy-approvals')).toContain(`apv_${name}`)
    expect(await read('activity?seconds=3600')).toContain(`${name}/bot`)
    expect(await read('connectors')).toContain(`${name}-connector`)
    expect(await read('policies')).toContain(`${name}-guard`)
    expect(await read('permissions')).toContain(`${name}/bot`)
    for (const kind of ['Connector', 'Permission', 'Policy'])
      expect(await read('export?format=manifests')).toContain(`kind: ${kind}`)
  },
)

test('a connector of the dashboard is refused where a guest has its host or one within its wildcard', async () => {
  const place = (domain: string) =>
    here.admin('POST', `${D}/connectors`, {
      ...{ type: 'generic', token: 't', gateway: 'landlord/shared', domains: [domain] },
    })
  expect((await place('api.lodger.test')).status).toBe(409)
  expect((await place('*.lodger.test')).status).toBe(409)
  // Beside an exact name of the same owner.
  expect((await place('*.landlord.test')).status).toBe(200)
})

test.each([
  ['landlord', 'lodger'],
  ['lodger', 'landlord'],
] as const)('%s reaches nothing of %s by its id', async (who, other) => {
  expect((await users[who]('GET', `${D}/traffic/rec_${other}`)).status).toBe(404)
  const answer = await users[who]('POST', `${D}/proxy-approvals`, { id: `apv_${other}`, approved: true })
  expect(answer.status).toBe(404)
  const url = `https://api.${other}.test/`
  const search = new URLSearchParams({ method: 'GET', url, agent: `${other}/bot` })
  expect((await users[who]('GET', `${D}/explain?${search}`)).status).toBe(404)
})
