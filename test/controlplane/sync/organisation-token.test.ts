import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createSectionLibrary } from '../../../controlplane/sync/sections/library.ts'
import type { OrganisationTokenScope } from '../../../controlplane/sync/sections/organisation-token.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { type Enrolled, type Replica, startWorld, type World } from './harness.ts'

const TOKEN = 'ghp_PLATFORM'
let world: World
let replica: Replica
const gateways: Record<string, Enrolled> = {}

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  for (const name of ['platform/default', 'tenant/default']) gateways[name] = await replica.enrol(name)
})
afterAll(() => world.stop())

/** The secret that a gateway would be sent for a Connector of this namespace. */
async function secretAt(gateway: string, scope: OrganisationTokenScope): Promise<string | null | undefined> {
  const library = createSectionLibrary({
    ...{ db: replica.db, keyring: world.keyring },
    organisationToken: { read: async () => TOKEN, scope },
    approvalsChat: async () => ({ channel: null, botToken: null }),
  })
  await library.reload()
  const text = library.of(gateways[gateway]?.id ?? '')?.texts.get('connectors') ?? '[]'
  return (JSON.parse(text) as ConnectorEntry[])[0]?.secret
}

async function connector(namespace: string, spec: object): Promise<void> {
  const reply = await replica.operator('PUT', `/api/operator/objects/Connector/${namespace}/host`, {
    ...{ uid: `uid-${namespace}`, generation: 1, source: 'kubernetes', managed_by: 'test' },
    resource: {
      apiVersion: 'chaperone.dev/v1alpha1',
      kind: 'Connector',
      metadata: { name: 'host', namespace },
      spec: { type: 'codehost', ...spec },
    },
  })
  expect([reply.status, reply.body]).toMatchObject([200, { accepted: true }])
}

const ALL: OrganisationTokenScope = { kind: 'all' }
const LISTED: OrganisationTokenScope = { kind: 'namespaces', namespaces: new Set(['platform']) }

describe("the organisation's code-host token", () => {
  test.each<[string, object]>([
    ['no address of its own', {}],
    ['domains of the provider', { domains: ['api.github.com', 'github.com'] }],
  ])('goes to a Connector with %s', async (_, spec) => {
    await connector('tenant', spec)
    expect(await secretAt('tenant/default', ALL)).toBe(TOKEN)
  })

  test.each<[string, object]>([
    ['another domain', { domains: ['code.tenant.test'] }],
    ['another domain beside the own ones', { domains: ['api.github.com', 'code.tenant.test'] }],
    ['a wildcard', { domains: ['*.github.com'] }],
    ['another address upstream', { upstream: { url: 'https://attacker.example' } }],
    ['a plain address upstream', { upstream: { url: 'http://api.github.com' } }],
    ['its own host by another port', { upstream: { url: 'https://api.github.com:8443' } }],
    ['a base URL', { baseUrl: 'https://ghe.attacker.example/api/v3' }],
    ['plain HTTP', { ports: [80] }],
    ['plain HTTP as well', { ports: [443, 80] }],
    ['a CA of its own', { upstream: { caBundle: 'x' } }],
    ['private addresses', { upstream: { allowPrivateAddresses: true } }],
    ['TLS that passes through', { tls: { mode: 'passthrough' } }],
  ])('never goes to a Connector with %s', async (_, spec) => {
    await connector('tenant', spec)
    expect(await secretAt('tenant/default', ALL)).toBe(null)
  })

  test('stays in the namespaces that the installation lists in a cluster', async () => {
    await connector('tenant', {})
    expect(await secretAt('tenant/default', LISTED)).toBe(null)
    await connector('platform', {})
    expect(await secretAt('platform/default', LISTED)).toBe(TOKEN)
    expect(await secretAt('tenant/default', LISTED)).toBe(null)
    expect(await secretAt('platform/default', { kind: 'namespaces', namespaces: new Set() })).toBe(null)
  })
})
