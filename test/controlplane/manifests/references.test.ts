import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Enrolled, type Replica, startWorld, type World } from '../sync/harness.ts'
import { createManifests, type Kind, type Manifests } from './manifests.ts'

let world: World
let replica: Replica
let manifests: Manifests

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  manifests = createManifests(world, replica)
})
afterAll(() => world.stop())

const SECRET = { credential: { secretRef: { name: 'codehost', key: 'token' } } }
const CODEHOST = { type: 'codehost', ...SECRET }
const admitting = (...names: string[]) => {
  const listed = { from: 'Selector', names }
  return { allowedNamespaces: { permissions: listed, policies: listed, connectors: listed, agents: listed } }
}
const rules = (decision: string) => [
  { connectorType: 'codehost', actionPattern: 'codehost.branch.delete', decision },
]
const NO_MERGE = {
  scope: { actions: ['codehost.pr.merge'] },
  rules: [{ name: 'no-merge', decision: 'deny' }],
}

/** Everything that any gateway would be sent of these objects. */
async function everything(...of: Enrolled[]): Promise<string> {
  const texts = await Promise.all(of.map((gateway) => manifests.texts(gateway)))
  return texts.flatMap((each) => [...each.values()]).join('\n')
}

describe('a reference without a namespace', () => {
  const references = [
    ['of a name', { gatewayRefs: [{ name: 'squatted' }] }],
    ['of a name and the own namespace', { gatewayRefs: [{ name: 'squatted', namespace: 'victim' }] }],
    ['that is left out', {}],
  ] as const

  test.each(references)('%s never binds a Connector to a Gateway of another namespace', async (_, refs) => {
    await manifests.apply('Gateway', 'evil/squatted', admitting('victim'))
    const thief = await replica.enrol('evil/squatted')
    const reply = await manifests.apply(
      'Connector',
      'victim/codehost',
      { ...CODEHOST, ...refs },
      'ghp_victim',
    )
    expect(reply).toMatchObject({ accepted: false, problem: 'GatewayNotFound', gateways: [] })
    expect(reply.reasons.join()).toMatch(/in namespace victim/)
    expect(await everything(thief)).not.toContain('ghp_victim')
    expect(await manifests.connectors(thief)).toEqual([])
  })

  test('of a Permission and of a Policy has no effect on a Gateway of another namespace', async () => {
    const refs = { gatewayRefs: [{ name: 'squatted' }] }
    const thief = await replica.enrol('evil/squatted')
    const permission = await manifests.apply('Permission', 'victim/p', { ...refs, rules: rules('allow') })
    const policy = await manifests.apply('Policy', 'victim/p', { ...refs, ...NO_MERGE })
    for (const reply of [permission, policy])
      expect(reply).toMatchObject({ accepted: false, problem: 'GatewayNotFound' })
    expect(await manifests.permissions(thief)).toEqual([])
    expect(await manifests.policies(thief)).toEqual([])
  })
})

describe('a second Gateway of the same name', () => {
  test('takes nothing away from the objects of other tenants, whatever it admits', async () => {
    await manifests.apply('Gateway', 'platform/shared', admitting('team-a', 'team-b'))
    const shared = await replica.enrol('platform/shared')
    const refs = { gatewayRefs: [{ name: 'shared', namespace: 'platform' }] }
    await manifests.apply('Policy', 'team-b/no-merge', { ...refs, ...NO_MERGE })
    await manifests.apply('Permission', 'team-b/no-delete', {
      ...{ ...refs, agents: ['bot'], rules: rules('deny') },
    })
    await manifests.apply('Connector', 'team-b/codehost', { ...refs, ...CODEHOST }, 'ghp_team_b')
    const before = await everything(shared)
    expect(before).toContain('ghp_team_b')
    await manifests.apply('Gateway', 'team-a/shared', admitting('team-b', 'platform'))
    const second = await replica.enrol('team-a/shared')
    expect(await everything(shared)).toBe(before)
    expect(await everything(second)).not.toContain('team-b/')
    for (const [kind, path] of [
      ['Policy', 'team-b/no-merge'],
      ['Permission', 'team-b/no-delete'],
      ['Connector', 'team-b/codehost'],
    ] as ReadonlyArray<[Kind, string]>)
      expect(await manifests.outcome(kind, path)).toMatchObject({
        accepted: true,
        gateways: ['platform/shared'],
      })
  })
})

test('a reference that is not resolved is named by its place in the list, after two of the same Gateway too', async () => {
  await manifests.apply('Gateway', 'twice/here', {})
  const gatewayRefs = [{ name: 'here' }, { name: 'here', namespace: 'twice' }, { name: 'missing' }]
  const { reasons } = await manifests.apply('Permission', 'twice/p', { gatewayRefs, rules: rules('allow') })
  expect(reasons).toEqual([expect.stringMatching(/^spec\.gatewayRefs\[2\]: there is no Gateway missing/)])
})

describe('a Policy with one reference that is not resolved', () => {
  const refs = { gatewayRefs: [{ name: 'here' }, { name: 'missing' }, { name: 'closed', namespace: 'away' }] }
  const named = async (of: Enrolled) =>
    (await manifests.policies(of)).map(({ name, invalid }) => [name, invalid !== undefined])

  test('binds to those that resolve, and says which do not', async () => {
    await manifests.apply('Gateway', 'partly/here', {})
    await manifests.apply('Gateway', 'partly/other', {})
    await manifests.apply('Gateway', 'away/closed', {})
    const [here, other, closed] = [
      await replica.enrol('partly/here'),
      await replica.enrol('partly/other'),
      await replica.enrol('away/closed'),
    ]
    const rules = [{ name: 'r', decision: 'deny' }]
    const reply = await manifests.apply('Policy', 'partly/guard', { ...refs, rules })
    expect(reply).toMatchObject({
      ...{ accepted: true, in_force: 'as_written', problem: 'GatewayNotFound', gateways: ['partly/here'] },
      reasons: [expect.stringContaining('missing'), expect.stringContaining('away/closed')],
    })
    expect(await named(here)).toContainEqual(['partly/guard', false])
    for (const gateway of [other, closed])
      expect(JSON.stringify(await named(gateway))).not.toContain('partly')
  })

  test('that was never accepted denies on those that resolve, and nowhere else', async () => {
    const here = await replica.enrol('partly/here')
    const rules = [{ name: 'r', conditions: ['action.efect == "write"'], decision: 'deny' }]
    const reply = await manifests.apply('Policy', 'partly/broken', { ...refs, rules })
    expect(reply).toMatchObject({ accepted: false, in_force: 'denied' })
    expect(await named(here)).toContainEqual(['partly/broken', true])
    for (const name of ['partly/other', 'away/closed'])
      expect(JSON.stringify(await named(await replica.enrol(name)))).not.toContain('broken')
  })
})

describe('across namespaces', () => {
  test('the reference names the Gateway and the Gateway admits the namespace; one alone has no effect', async () => {
    await manifests.apply('Gateway', 'lender/gateway', {})
    const lender = await replica.enrol('lender/gateway')
    const refs = { gatewayRefs: [{ name: 'gateway', namespace: 'lender' }] }
    const named = await manifests.apply('Connector', 'owner/codehost', { ...refs, ...CODEHOST }, 'ghp_owner')
    expect(named).toMatchObject({ accepted: false, problem: 'NamespaceNotAllowed' })
    expect(named.reasons.join()).toContain('spec.allowedNamespaces.connectors')
    expect(await everything(lender)).not.toContain('ghp_owner')
    await manifests.apply('Gateway', 'lender/gateway', admitting('owner'))
    expect(await everything(lender)).toContain('ghp_owner')
    // The Gateway admits the namespace, and the Connector does not name the Gateway.
    await manifests.apply('Connector', 'owner/codehost', CODEHOST, 'ghp_owner')
    expect(await everything(lender)).not.toContain('ghp_owner')
  })
})
