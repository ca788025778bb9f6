import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { size } from '../../support/proof.ts'
import { type Enrolled, type Replica, startWorld, type World } from '../sync/harness.ts'
import { createManifests, type Kind, type Manifests } from './manifests.ts'

vi.setConfig({ testTimeout: size(240_000, 3_600_000) })

let world: World
let replica: Replica
let manifests: Manifests
let own: Enrolled
let shared: Enrolled

const ADMITTED = { from: 'Selector', names: ['first', 'second'] }
const EVERYONE = { from: 'All' }
const all = (allowed: object) => ({
  allowedNamespaces: { permissions: allowed, policies: allowed, connectors: allowed, agents: allowed },
})
const SHARED = { gatewayRefs: [{ name: 'shared', namespace: 'platform' }] }
const rule = (actionPattern: string, decision: string) => ({
  connectorType: 'codehost',
  actionPattern,
  decision,
})
const CREDENTIAL = { credential: { secretRef: { name: 's', key: 'token' } } }

const SECRETS = ['ghp_first', 'xoxb', 'sk_lent', 'waiting-for-own']

/** The first tenant: a Gateway of its own with the name that everybody takes, and objects on a shared one. */
beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  manifests = createManifests(world, replica)
  const { apply } = manifests
  await apply('Gateway', 'platform/shared', all(ADMITTED))
  await apply('Gateway', 'first/default', {})
  await apply('Connector', 'first/codehost', { type: 'codehost', ...CREDENTIAL }, 'ghp_first')
  await apply(
    'Connector',
    'first/bare',
    { type: 'chat', gatewayRefs: [{ name: 'default' }], ...CREDENTIAL },
    'xoxb',
  )
  await apply('Connector', 'first/lent', { type: 'payments', ...SHARED, ...CREDENTIAL }, 'sk_lent', {
    createdAt: '2026-01-01T00:00:00Z',
  })
  const waiting = {
    type: 'mcp',
    domains: ['first.example'],
    gatewayRefs: [{ name: 'squatted' }],
    ...CREDENTIAL,
  }
  await apply('Connector', 'first/waiting', waiting, 'waiting-for-own')
  for (const [name, refs] of [
    ['own', { gatewayRefs: [{ name: 'default' }] }],
    ['shared', SHARED],
    // Not there, and never to be another tenant's.
    ['missing', { gatewayRefs: [{ name: 'squatted' }] }],
    ['foreign', { gatewayRefs: [{ name: 'squatted', namespace: 'second' }] }],
  ] as const) {
    const rules = [rule('codehost.branch.delete', 'deny'), rule('codehost.issue.*', 'allow')]
    await apply('Permission', `first/${name}`, { ...refs, agents: ['bot'], rules })
    await apply('Policy', `first/${name}`, { ...refs, rules: [{ name: 'no', decision: 'deny' }] })
  }
  own = await replica.enrol('first/default')
  shared = await replica.enrol('platform/shared')
})
afterAll(() => world.stop())

type Step = { readonly kind: Kind; readonly name: string; readonly spec: object | null }

const names = fc.constantFrom('squatted', 'squatted', 'default', 'shared', 'codehost', 'own')
const ref = fc.record(
  { name: names, namespace: fc.constantFrom('first', 'second', 'platform') },
  { requiredKeys: ['name'] },
)
const refs = fc.option(fc.array(ref, { minLength: 1, maxLength: 3 }), { nil: undefined })
const withRefs = (spec: object) =>
  refs.map((given) => (given === undefined ? spec : { ...spec, gatewayRefs: given }))
const decision = fc.constantFrom('allow', 'deny', 'require_approval')
const specs: Readonly<Record<Kind, fc.Arbitrary<object>>> = {
  Gateway: fc.constantFrom({}, all(ADMITTED), all(EVERYONE), { enforcementLevel: 'monitor' }),
  Connector: fc
    .constantFrom('second.example', 'api.stripe.com', '*.stripe.com', '*.com', 'first.example', '*.example')
    .chain((domain) => withRefs({ type: 'generic', domains: [domain], ...CREDENTIAL })),
  Permission: fc
    .tuple(ref, decision, fc.constantFrom('*', 'bot', 'first/bot', 'first/*'))
    .map(([given, what, agent]) => ({
      ...{ gatewayRefs: [given], agents: [agent], rules: [rule('codehost.*', what)] },
    })),
  Policy: fc
    .tuple(decision, fc.constantFrom(-1_000_000, 0, 1_000_000))
    .chain(([what, priority]) => withRefs({ priority, rules: [{ name: 'r', decision: what }] })),
}
const step: fc.Arbitrary<Step> = fc
  .constantFrom<Kind>('Gateway', 'Connector', 'Permission', 'Policy')
  .chain((kind) => fc.record({ kind: fc.constant(kind), name: names, spec: fc.option(specs[kind]) }))

async function take({ kind, name, spec }: Step): Promise<void> {
  const path = `second/${name}`
  if (spec === null) await manifests.remove(kind, path)
  else
    await manifests.apply(kind, path, spec, kind === 'Connector' ? 'stolen-by-second' : undefined, {
      createdAt: '2026-01-02T00:00:00Z',
    })
}

/** Every section of the own Gateway; of the shared one what the first tenant has there. */
async function firstTenant(): Promise<string> {
  const mine = ({ name }: { readonly name: string }) => name.startsWith('first/')
  const sections = [...(await manifests.texts(own))]
  const rows = (await manifests.permissions(shared)).filter(({ managed_by: by }) => by?.includes(' first/'))
  const kept = {
    connectors: (await manifests.connectors(shared)).filter(mine),
    policies: (await manifests.policies(shared)).filter(mine),
    permissions: rows,
  }
  return JSON.stringify([sections, kept])
}

describe('whatever a second tenant creates, changes, renames and deletes', () => {
  test('the sections of the first one stay byte-identical, and nothing of it goes elsewhere', async () => {
    const before = await firstTenant()
    expect(before).toContain('ghp_first')
    expect(before).toContain('sk_lent')
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
        for (const each of steps) {
          await take(each)
          expect(await firstTenant()).toBe(before)
        }
        const { rows } = await replica.db.query<{ id: string; name: string }>(
          "select id, name from gateways where name like 'second/%'",
          [],
        )
        for (const { id, name } of rows) {
          const texts = [...(await manifests.texts({ id, name, token: '' })).values()].join('\n')
          for (const secret of SECRETS) expect(texts).not.toContain(secret)
          const from = [...texts.matchAll(/kubernetes \w+ first\/([\w-]+)/g)].map(([, path]) => path)
          expect(from.filter((path) => path !== 'foreign')).toEqual([])
        }
      }),
      { numRuns: size(10, 400) },
    )
  })
})
