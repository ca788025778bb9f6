import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type {
  ConnectorEntry,
  GatewaySection,
  PermissionEntry,
  PolicyEntry,
} from '../../../core/wire/gateway/sync.ts'
import { type Enrolled, person, type Replica, startWorld, type World } from '../sync/harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled
const viewer = person({ role: 'viewer' })

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

type Put = {
  readonly accepted: boolean
  readonly reasons: string[]
  readonly warnings: string[]
  readonly version: number
}
type Extra = {
  namespace?: string
  source?: string
  credential?: string | null
  file?: string
  generation?: number
}

async function put(kind: string, name: string, spec: object, extra: Extra = {}): Promise<Put> {
  const { namespace = 'default', source = 'file', file = 'test.yaml', generation = 1 } = extra
  const reply = await replica.operator('PUT', `/api/operator/objects/${kind}/${namespace}/${name}`, {
    ...{ uid: `uid-${kind}-${namespace}-${name}`, generation, source, managed_by: file },
    resource: { apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
    ...('credential' in extra ? { credential: extra.credential } : {}),
  })
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body as Put
}

async function section<T>(name: string, of = gateway): Promise<T> {
  const library = await sections(of)
  return JSON.parse(library.get(name) ?? 'null') as T
}

/** What the gateway would be sent now, read through a fresh replica's eyes. */
async function sections(of: Enrolled): Promise<ReadonlyMap<string, string>> {
  const { createSectionLibrary } = await import('../../../controlplane/sync/sections/library.ts')
  const library = createSectionLibrary({
    db: replica.db,
    keyring: world.keyring,
    organisationToken: { read: async () => null, scope: { kind: 'all' } },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
  await library.reload()
  return library.of(of.id)?.texts ?? new Map()
}

async function permissions(of = gateway): Promise<PermissionEntry[]> {
  const texts = await sections(of)
  return [...texts]
    .filter(([name]) => name.startsWith('permissions.'))
    .flatMap(([, text]) => JSON.parse(text))
}

/** A number that changes whenever a row that manifests govern, or an audit event, is written. */
async function writes(): Promise<number> {
  const { rows } = await replica.db.query<{ n: number }>(
    `select sum(t.xmin::text::bigint)::float8 + (select count(*) from audit_events) as n from (
       select xmin from manifest_objects union all select xmin from gateways union all select xmin from connectors
       union all select xmin from permissions union all select xmin from policies
       union all select xmin from kill_switches union all select xmin from config_version) as t`,
  )
  return rows[0]?.n ?? -1
}

const CODEHOST = { type: 'codehost', credential: { secretRef: { name: 'codehost', key: 'token' } } }
const POLICY = {
  scope: { actions: ['codehost.*'] },
  rules: [{ name: 'no-deletes', conditions: ['action.type == "codehost.repo.delete"'], decision: 'deny' }],
  tests: [
    {
      name: 'deleting a repository is denied',
      action: { type: 'codehost.repo.delete', resource: { provider: 'codehost', target: 'a/b' } },
      expect: { outcome: 'deny', rule: 'no-deletes' },
    },
  ],
}

describe('an object of a manifest', () => {
  test('is in force for its gateway, says where it comes from, and costs nothing the second time', async () => {
    const all = async () => [
      await put('Gateway', 'local', { enforcementLevel: 'enforce_high_risk' }),
      await put('Connector', 'codehost', CODEHOST, { credential: 'ghp_secret' }),
      await put('Permission', 'codehost', {
        gatewayRefs: [{ name: 'local' }],
        rules: [{ connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'require_approval' }],
      }),
      await put('Policy', 'careful', POLICY),
    ]
    for (const reply of await all())
      expect(reply).toMatchObject({ accepted: true, reasons: [], warnings: [] })
    expect((await section<GatewaySection>('gateway')).enforcementLevel).toBe('enforce_high_risk')
    const [connector] = await section<ConnectorEntry[]>('connectors')
    expect(connector).toMatchObject({
      ...{
        name: 'default/codehost',
        type: 'codehost',
        secret: 'ghp_secret',
        source: 'file',
        managed_by: 'test.yaml',
      },
      auth: { type: 'token' },
    })
    expect(await permissions()).toMatchObject([
      { action_pattern: 'codehost.pr.*', agent: '*', managed_by: 'test.yaml' },
    ])
    expect(await section<PolicyEntry[]>('policies')).toMatchObject([{ name: 'default/careful', version: 1 }])

    const before = await writes()
    const version = (await all()).map((reply) => reply.version)
    expect(await writes()).toBe(before)
    expect(new Set(version).size).toBe(1)
  })

  test('keeps its credential encrypted in the database, and out of the lists of users', async () => {
    const { rows } = await replica.db.query<{ text: string }>(
      `select coalesce(string_agg(t::text, ' '), '') as text from (
         select row_to_json(d) as t from manifest_objects d union all select row_to_json(c) from connectors c
         union all select row_to_json(a) from audit_events a) as everything`,
    )
    expect(rows[0]?.text).toContain('ciphertext')
    expect(rows[0]?.text).not.toContain('ghp_secret')
  })

  test('is read-only elsewhere: 409 that names the manifest', async () => {
    const connectors = await replica.command(gateway, 'connectors.list')
    const [{ id }] = connectors.body['connectors'] as [{ id: string }]
    for (const [command, input] of [
      ['connectors.remove', { id }],
      ['connectors.add', { type: 'codehost', token: 'other' }],
      ['enforcement', { level: 'monitor' }],
      [
        'permissions.set',
        {
          ...{ gateway_name: 'local', connector_type: 'codehost', action_pattern: 'codehost.pr.*' },
          decision: 'allow',
        },
      ],
    ] as const) {
      const reply = await replica.command(gateway, command, input)
      expect(reply, command).toMatchObject({
        status: 409,
        body: { error: 'Managed by test.yaml; edit the manifest' },
      })
    }
    expect((await section<ConnectorEntry[]>('connectors'))[0]?.secret).toBe('ghp_secret')
  })

  test('without a word about its credential keeps the one that is stored; null takes it away with a warning', async () => {
    await put('Connector', 'codehost', { ...CODEHOST, environment: 'production' })
    expect((await section<ConnectorEntry[]>('connectors'))[0]).toMatchObject({
      ...{ secret: 'ghp_secret', environment: 'production' },
    })
    const reply = await put('Connector', 'codehost', CODEHOST, { credential: null })
    expect(reply.accepted).toBe(true)
    expect(reply.warnings[0]).toMatch(/Secret default\/codehost has no key token/)
    expect((await section<ConnectorEntry[]>('connectors'))[0]?.secret).toBeNull()
  })
})

describe('a policy', () => {
  test('whose tests fail is refused by the name of the test, and the last good version stays in force', async () => {
    const broken = { ...POLICY, rules: [{ ...POLICY.rules[0], decision: 'allow' }] }
    const reply = await put('Policy', 'careful', broken)
    expect(reply.accepted).toBe(false)
    expect(reply.reasons[0]).toMatch(/the test "deleting a repository is denied" fails: expected deny/)
    const [entry] = await section<PolicyEntry[]>('policies')
    expect(entry).toMatchObject({ version: 1, document: { rules: [{ decision: 'deny' }] } })
    expect(await put('Policy', 'careful', { ...POLICY, description: 'now better' })).toMatchObject({
      accepted: true,
    })
    expect((await section<PolicyEntry[]>('policies'))[0]?.version).toBe(3)
  })

  test('whose condition does not compile is refused with its place', async () => {
    const reply = await put('Policy', 'typo', {
      rules: [{ name: 'x', conditions: ['action.type == '], decision: 'deny' }],
    })
    expect(reply.accepted).toBe(false)
    expect(reply.reasons[0]).toMatch(/^spec\.rules\[0\]\.conditions\[0\]/)
  })
})

describe('two connectors', () => {
  test('may not own one host of one gateway; the second is refused by the name of the first until that one goes', async () => {
    const spec = { type: 'generic', domains: ['api.example.com'] }
    expect((await put('Connector', 'first', spec)).accepted).toBe(true)
    const refused = await put('Connector', 'second', spec)
    expect(refused.accepted).toBe(false)
    expect(refused.reasons[0]).toMatch(
      /api\.example\.com belongs to the connector default\/first \(test\.yaml\)/,
    )
    const gone = await replica.operator('DELETE', '/api/operator/objects/Connector/default/first')
    expect(gone.body).toEqual({ removed: true })
    const names = (await section<ConnectorEntry[]>('connectors')).map(({ name }) => name)
    expect(names).toContain('default/second')
    expect(names).not.toContain('default/first')
  })

  test.each(['generic', 'webhook', 'mcp'])('of type %s need domains', async (type) => {
    const reply = await put('Connector', 'nowhere', { type })
    expect(reply.accepted).toBe(false)
    expect(reply.reasons[0]).toMatch(/no default hosts/)
  })
})

describe('namespaces', () => {
  test('a Permission of another namespace has no effect unless the Gateway admits that namespace', async () => {
    const grant = () =>
      put(
        'Permission',
        'grant',
        {
          gatewayRefs: [{ name: 'local', namespace: 'default' }],
          rules: [{ connectorType: 'chat', actionPattern: 'chat.*', decision: 'allow' }],
        },
        { namespace: 'tenant', source: 'kubernetes' },
      )
    const chat = async () => (await permissions()).filter((row) => row.connector_type === 'chat')
    const refused = await grant()
    expect(refused.accepted).toBe(false)
    expect(refused.reasons[0]).toMatch(
      /no Gateway default\/local that admits permissions of namespace tenant/,
    )
    expect(await chat()).toEqual([])
    await put('Gateway', 'local', {
      allowedNamespaces: { permissions: { from: 'Selector', names: ['tenant'] } },
    })
    expect(await chat()).toHaveLength(1)
    await put('Gateway', 'local', {})
    expect(await chat()).toEqual([])
  })

  test('an object that names a gateway that is not there yet is in force once it is', async () => {
    const reply = await put('Permission', 'early', {
      gatewayRefs: [{ name: 'later' }],
      rules: [{ connectorType: 'mcp', actionPattern: 'mcp.*', decision: 'allow' }],
    })
    expect(reply).toMatchObject({ accepted: false, reasons: [expect.stringMatching(/no Gateway later/)] })
    await put('Gateway', 'later', {})
    const later = await replica.enrol('default/later')
    expect(await permissions(later)).toHaveLength(1)
  })
})

describe('a sweep', () => {
  const present = (...names: string[]) =>
    names.map((path) => {
      const [kind = '', namespace = '', name = ''] = path.split('/')
      return { kind, namespace, name, uid: `uid-${kind}-${namespace}-${name}` }
    })

  test('removes what its source does not have any more, and names what is missing here', async () => {
    await put(
      'Connector',
      'swept',
      { type: 'generic', domains: ['swept.example.com'] },
      { file: 'swept.yaml' },
    )
    const list = await replica.user(viewer, 'GET', '/api/dashboard/manifests')
    const keep = (list.body['objects'] as Array<Record<string, string>>)
      .filter((object) => object['source'] === 'file' && object['name'] !== 'swept')
      .map((object) => `${object['kind']}/${object['namespace']}/${object['name']}`)
    const reply = await replica.operator('POST', '/api/operator/sweep', {
      source: 'file',
      present: [...present(...keep), ...present('Policy/default/absent')],
    })
    expect(reply.body).toEqual({
      removed: 1,
      missing: [{ kind: 'Policy', namespace: 'default', name: 'absent' }],
    })
    expect((await section<ConnectorEntry[]>('connectors')).map(({ name }) => name)).not.toContain(
      'default/swept',
    )
  })

  test('spares the objects of files that are broken right now', async () => {
    await put('Connector', 'kept', { type: 'generic', domains: ['kept.example.com'] }, { file: 'kept.yaml' })
    const problems = [{ file: 'kept.yaml', line: 3, message: 'not valid YAML' }]
    await replica.operator('POST', '/api/operator/problems', { source: 'file', problems })
    await replica.operator('POST', '/api/operator/sweep', {
      source: 'file',
      present: present('Gateway/default/local'),
    })
    expect((await section<ConnectorEntry[]>('connectors')).map(({ name }) => name)).toEqual(['default/kept'])
    const view = await replica.user(viewer, 'GET', '/api/dashboard/manifests')
    expect(view.body['problems']).toEqual(problems)
    await replica.operator('POST', '/api/operator/problems', { source: 'file', problems: [] })
    await replica.operator('POST', '/api/operator/sweep', { source: 'file', present: [] })
    expect(await section<ConnectorEntry[]>('connectors')).toEqual([])
  })

  test('never takes an enrolled gateway its identity: it falls back to the defaults, which deny', async () => {
    const spec = await section<GatewaySection>('gateway')
    expect(spec).toMatchObject({ id: gateway.id, enforcementLevel: 'full_enforce', defaultDecision: 'deny' })
  })
})

test('only the operator token may push manifests', async () => {
  const { status } = await replica.user(person({ role: 'owner' }), 'POST', '/api/operator/sweep', {
    source: 'file',
    present: [],
  })
  expect(status).toBe(401)
})

test('an older generation of a cluster that arrives late changes nothing', async () => {
  const spec = (level: string) => ({ enforcementLevel: level })
  const extra = { namespace: 'cluster', source: 'kubernetes' }
  await put('Gateway', 'gw', spec('monitor'), { ...extra, generation: 5 })
  await put('Gateway', 'gw', spec('full_enforce'), { ...extra, generation: 4 })
  const enrolled = await replica.enrol('cluster/gw')
  expect((await section<GatewaySection>('gateway', enrolled)).enforcementLevel).toBe('monitor')
})

describe('an MCP Connector', () => {
  const spec = { type: 'mcp', domains: ['tools.example'], auth: { type: 'none' } }

  test('without an endpoint is accepted with a warning; its endpoint reaches the gateways', async () => {
    await put('Gateway', 'local', {})
    const open = await put('Connector', 'tools', spec)
    expect(open).toMatchObject({ accepted: true, warnings: [expect.stringContaining('endpoint')] })
    const named = await put('Connector', 'tools', { ...spec, endpoint: ['/mcp'], mcp: {} })
    expect(named).toMatchObject({ accepted: true, warnings: [] })
    const entries = await section<ConnectorEntry[]>('connectors')
    expect(entries.find(({ name }) => name === 'default/tools')).toMatchObject({
      endpoint: ['/mcp'],
      mcp: { filterTools: false },
    })
  })
})

test('webSocketMessages of a Connector reaches the gateways', async () => {
  await put('Gateway', 'local', {})
  const sockets = async () =>
    (await section<ConnectorEntry[]>('connectors')).find(({ name }) => name === 'default/models')
  await put('Connector', 'models', { type: 'llm_a', auth: { type: 'none' } })
  expect(await sockets()).not.toHaveProperty('webSocketMessages')
  await put('Connector', 'models', { type: 'llm_a', auth: { type: 'none' }, webSocketMessages: true })
  expect(await sockets()).toMatchObject({ webSocketMessages: true })
})
