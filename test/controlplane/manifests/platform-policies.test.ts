import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createControlPlaneMetrics } from '../../../controlplane/features/maintenance/metrics.ts'
import { type Replica, startWorld, type World } from '../sync/harness.ts'
import { createManifests, type Manifests } from './manifests.ts'

const PLATFORM = new Set(['platform', 'security'])
let world: World
let replica: Replica
let manifests: Manifests

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica({ platformNamespaces: PLATFORM })
  manifests = createManifests(world, replica, PLATFORM)
})
afterAll(() => world.stop())

const DENY = {
  rules: [{ name: 'r', conditions: ['action.type == "codehost.repo.delete"'], decision: 'deny' }],
}
const rule = { connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }

async function tenant(namespace: string, spec: object = {}) {
  await manifests.apply('Gateway', `${namespace}/own`, spec)
  return replica.enrol(`${namespace}/own`)
}

async function everyNamespace() {
  const { rows } = await replica.db.query<{ name: string }>(
    "select distinct split_part(name, '/', 1) as name from gateways",
  )
  return { namespaces: rows.map(({ name }) => name) }
}

async function tierOf(of: Awaited<ReturnType<typeof tenant>>, name: string) {
  const found = (await manifests.policies(of)).find((entry) => entry.name === name)
  return found === undefined ? null : (found.tier ?? 'installation')
}

async function invalidCounts() {
  const metrics = createControlPlaneMetrics({
    ...{ db: replica.db, orgId: 'none', kills: () => 0, refusedBatches: new Map() },
    narrowedTokens: () => new Map(),
    ...{ state: () => ({ version: 1, processes: [] }), certificate: () => null },
    platformNamespaces: PLATFORM,
    channels: async () => [],
  })
  const count = (text: string, tier: string) =>
    Number(new RegExp(`^svc_policies_invalid\\{tier="${tier}"\\} (.*)$`, 'm').exec(text)?.[1])
  const text = await metrics.scrape()
  return { platform: count(text, 'platform'), tenant: count(text, 'tenant') }
}

describe('a Policy of the platform team', () => {
  test('is for every Gateway without an invitation, also for those that come later', async () => {
    const before = await tenant('early')
    const reply = await manifests.apply('Policy', 'platform/ceiling', DENY)
    expect(reply).toMatchObject({ accepted: true, gateways: null })
    const after = await tenant('late')
    for (const gateway of [before, after]) expect(await tierOf(gateway, 'platform/ceiling')).toBe('platform')
    await manifests.remove('Policy', 'platform/ceiling')
    expect(await tierOf(before, 'platform/ceiling')).toBeNull()
  })

  test('with references is for those Gateways alone, which need not admit it', async () => {
    const named = await tenant('named')
    const other = await tenant('other')
    const gatewayRefs = [{ name: 'own', namespace: 'named' }]
    expect(await manifests.apply('Policy', 'security/some', { ...DENY, gatewayRefs })).toMatchObject({
      accepted: true,
      gateways: ['named/own'],
    })
    expect(await tierOf(named, 'security/some')).toBe('platform')
    expect(await tierOf(other, 'security/some')).toBeNull()
  })

  test('with a selector is for the Gateways of the namespaces that have the labels, and follows them', async () => {
    const report = async (labels: Record<string, Record<string, string>>) => {
      const namespaces = Object.entries(labels).map(([name, own]) => ({ name, labels: own }))
      await replica.operator('PUT', '/api/operator/namespaces', { namespaces })
    }
    const [bank, shop, other] = [await tenant('bank'), await tenant('shop'), await tenant('newcomer')]
    const tiers = async () =>
      Promise.all([bank, shop, other].map((gateway) => tierOf(gateway, 'security/selected')))
    const { namespaces } = await everyNamespace()
    const labelled = (own: Record<string, Record<string, string>>) =>
      report({ ...Object.fromEntries(namespaces.map((name) => [name, {}])), ...own })
    await labelled({ bank: { tier: 'regulated' }, shop: {} })
    const namespaceSelector = { matchLabels: { tier: 'regulated' } }
    expect(
      await manifests.apply('Policy', 'security/selected', { ...DENY, namespaceSelector }),
    ).toMatchObject({
      accepted: true,
      gateways: ['bank/own'],
    })
    expect(await tiers()).toEqual(['platform', null, null])
    await labelled({ bank: {}, shop: { tier: 'regulated' } })
    expect(await tiers()).toEqual([null, 'platform', null])
    // Selected by nobody: it is for no Gateway, not for all.
    await labelled({})
    expect(await tiers()).toEqual([null, null, null])
    expect(await manifests.outcome('Policy', 'security/selected')).toMatchObject({
      ...{ accepted: false, problem: 'GatewayNotFound', in_force: 'nothing' },
    })
    // Nothing is known of a namespace: it counts as selected, because that can only tighten.
    await report(
      Object.fromEntries(namespaces.filter((name) => name !== 'newcomer').map((name) => [name, {}])),
    )
    expect(await tiers()).toEqual([null, null, 'platform'])
    await manifests.remove('Policy', 'security/selected')
  })

  test('that is broken denies for every agent of every Gateway', async () => {
    const gateway = await tenant('victim')
    const broken = { rules: [{ name: 'r', conditions: ['action.efect == "write"'], decision: 'deny' }] }
    expect(await manifests.apply('Policy', 'platform/broken', broken)).toMatchObject({ accepted: false })
    const entry = (await manifests.policies(gateway)).find(({ name }) => name === 'platform/broken')
    expect(entry).toMatchObject({ tier: 'platform', invalid: expect.stringContaining('efect') })
    expect(await invalidCounts()).toEqual({ platform: 1, tenant: 0 })
    expect(entry?.agentsOf).toBeUndefined()
    await manifests.apply('Policy', 'victim/broken', broken)
    expect(await invalidCounts()).toEqual({ platform: 1, tenant: 1 })
    await manifests.remove('Policy', 'platform/broken')
    await manifests.remove('Policy', 'victim/broken')
    expect(await invalidCounts()).toEqual({ platform: 0, tenant: 0 })
  })
})

describe('a tenant', () => {
  test('selects no namespaces', async () => {
    const own = await tenant('selecting')
    const victim = await tenant('selected')
    const namespaceSelector = { matchExpressions: [{ key: 'none', operator: 'DoesNotExist' }] }
    const reply = await manifests.apply('Policy', 'selecting/all', { ...DENY, namespaceSelector })
    expect(reply).toMatchObject({ accepted: false, problem: 'Invalid' })
    expect(reply.reasons.join()).toContain('namespaceSelector')
    expect(await tierOf(victim, 'selecting/all')).toBeNull()
    expect(await tierOf(own, 'selecting/all')).toBe('gateway')
    await manifests.remove('Policy', 'selecting/all')
  })

  test('of any name is not the platform', async () => {
    const gateway = await tenant('home')
    for (const namespace of ['platform-x', 'xplatform', 'Platform', 'securit'])
      expect(
        await manifests.apply('Policy', `${namespace}/claims`, {
          ...DENY,
          gatewayRefs: [{ name: 'own', namespace: 'home' }],
        }),
      ).toMatchObject({ accepted: false, problem: 'NamespaceNotAllowed' })
    expect((await manifests.policies(gateway)).filter(({ name }) => name.endsWith('/claims'))).toEqual([])
  })

  test('has a tier of its own in its Gateway, and is a guest in one that admits it', async () => {
    const admitted = { from: 'Selector', names: ['visitor'] }
    const host = await tenant('host', { allowedNamespaces: { policies: admitted, permissions: admitted } })
    await tenant('visitor')
    await manifests.apply('Policy', 'host/rule', DENY)
    const gatewayRefs = [{ name: 'own', namespace: 'host' }]
    await manifests.apply('Policy', 'visitor/rule', { ...DENY, priority: 1_000_000, gatewayRefs })
    expect(await tierOf(host, 'host/rule')).toBe('gateway')
    expect(await tierOf(host, 'visitor/rule')).toBe('guest')
    const entry = (await manifests.policies(host)).find(({ name }) => name === 'visitor/rule')
    expect(entry?.agentsOf).toBe('visitor')
  })

  test('as a guest permits things to its own agents alone', async () => {
    const admitted = { from: 'Selector', names: ['caller'] }
    const host = await tenant('grand', { allowedNamespaces: { permissions: admitted } })
    await tenant('caller')
    const gatewayRefs = [{ name: 'own', namespace: 'grand' }]
    const spec = (agents: string[]) => ({ gatewayRefs, agents, rules: [rule] })
    await manifests.apply('Permission', 'caller/wide', spec(['*', 'bot', 'caller/cat']))
    const agents = (await manifests.permissions(host)).map(({ agent }) => agent).sort()
    expect(agents).toEqual(['caller/*', 'caller/bot', 'caller/cat'])
    for (const agent of ['grand/bot', 'caller2/bot', 'grand/*']) {
      const reply = await manifests.apply('Permission', 'caller/wide', spec(['bot', agent]))
      expect(reply, agent).toMatchObject({ accepted: false, problem: 'Invalid' })
      expect(reply.reasons.join()).toContain(agent)
    }
    const kept = (await manifests.permissions(host)).map(({ agent }) => agent).sort()
    expect(kept).toEqual(agents)
  })
})
