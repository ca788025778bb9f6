import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Enrolled, type Replica, startWorld, type World } from '../sync/harness.ts'
import { createManifests, type Manifests } from './manifests.ts'

let world: World
let replica: Replica
let manifests: Manifests
let gateway: Enrolled

const TRUSTED = { from: 'Selector', selector: { matchLabels: { tier: 'trusted' } } }
const REFS = { gatewayRefs: [{ name: 'shared', namespace: 'platform' }] }
const rule = (actionPattern: string, decision: string) => ({
  ...{ connectorType: 'codehost', actionPattern, decision },
})

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  manifests = createManifests(world, replica)
  const allowedNamespaces = { permissions: TRUSTED, policies: TRUSTED, connectors: TRUSTED }
  await manifests.apply('Gateway', 'platform/shared', { allowedNamespaces })
  gateway = await replica.enrol('platform/shared')
})
afterAll(() => world.stop())

async function report(namespaces: Readonly<Record<string, Record<string, string>>>): Promise<boolean> {
  const all = Object.entries(namespaces).map(([name, labels]) => ({ name, labels }))
  const reply = await replica.operator('PUT', '/api/operator/namespaces', { namespaces: all })
  expect(reply.status, JSON.stringify(reply.body)).toBe(200)
  return reply.body['rebound'] as boolean
}

const version = async () =>
  (await replica.db.query<{ version: number }>('select version from config_version')).rows[0]?.version

describe('a Gateway that admits namespaces by their labels', () => {
  test('binds objects when a namespace gets the label, and keeps only denies when it loses it', async () => {
    const rules = [rule('codehost.issue.*', 'allow'), rule('codehost.branch.delete', 'deny')]
    const credential = { credential: { secretRef: { name: 'c', key: 'token' } } }
    const refused = await manifests.apply('Permission', 'team/p', { ...REFS, rules })
    expect(refused).toMatchObject({ accepted: false, problem: 'NamespaceNotAllowed' })
    await manifests.apply('Connector', 'team/c', { ...REFS, type: 'codehost', ...credential }, 'ghp_team')
    expect(await manifests.connectors(gateway)).toEqual([])

    expect(await report({ team: {}, other: { tier: 'trusted' } })).toBe(false)
    expect(await manifests.permissions(gateway)).toEqual([])
    expect(await report({ team: { tier: 'trusted' }, other: {} })).toBe(true)
    expect(await manifests.permissions(gateway)).toHaveLength(2)
    expect(await manifests.connectors(gateway)).toMatchObject([{ secret: 'ghp_team' }])
    expect(await manifests.outcome('Permission', 'team/p')).toMatchObject({
      accepted: true,
      in_force: 'as_written',
    })

    const before = await version()
    expect(await report({ team: { tier: 'trusted' }, other: { new: 'label' }, third: {} })).toBe(false)
    expect(await version()).toBe(before)

    expect(await report({ team: { tier: 'gone' }, other: {} })).toBe(true)
    expect(await manifests.connectors(gateway)).toEqual([])
    expect(await manifests.permissions(gateway)).toMatchObject([{ decision: 'deny', agent: 'team/*' }])
    expect(await manifests.outcome('Permission', 'team/p')).toMatchObject({
      ...{ accepted: false, problem: 'NamespaceNotAllowed', in_force: 'binding_lost' },
    })
  })

  test('a namespace that is deleted is admitted no more, and one that is not known never was', async () => {
    const rules = [rule('codehost.issue.*', 'allow')]
    await report({ late: { tier: 'trusted' } })
    expect(await manifests.apply('Permission', 'late/p', { ...REFS, rules })).toMatchObject({
      accepted: true,
    })
    await report({})
    expect(await manifests.outcome('Permission', 'late/p')).toMatchObject({ accepted: false })
    expect((await manifests.permissions(gateway)).filter(({ decision }) => decision === 'allow')).toEqual([])
  })

  test('only the operator reports namespaces', async () => {
    const { id, name, token } = gateway
    const asGateway = await replica.gateway({ id, name, token }, 'PUT', '/api/operator/namespaces', {
      namespaces: [{ name: 'late', labels: { tier: 'trusted' } }],
    })
    expect(asGateway.status).toBe(401)
  })
})
