import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClusterOperator } from '../../../operator/cluster/cluster-operator.ts'
import { pathOf, RESOURCES } from '../../../operator/kube/objects.ts'
import { grantFor, grantStatus, revokeGrant } from '../../controlplane/approvals/granted.ts'
import type { Enrolled } from '../../controlplane/sync/harness.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import type { Any } from '../kube/cluster.ts'
import { type ClusterWorld, startClusterWorld, statusOf, untilConditions } from './world.ts'

describe.skipIf(kubeAssets() === null)(`grants of a cluster (${KUBE_ASSETS_HINT})`, () => {
  let world: ClusterWorld
  let operator: ClusterOperator
  let gateway: Enrolled

  beforeAll(async () => {
    world = await startClusterWorld()
    await world.cluster.namespace('team')
    operator = await world.operator()
    await world.cluster.create('Gateway', 'team', 'prod', {})
    await untilConditions(world.cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
    gateway = await world.replica.enrol('team/prod')
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  async function granted(agent: string) {
    await world.replica.command(gateway, 'agents.register', { name: agent })
    return grantFor(world.replica, gateway, agent)
  }

  const permissions = async (): Promise<readonly Any[]> => {
    const { items } = await world.cluster.client.call<{ items: readonly Any[] }>({
      method: 'GET',
      path: pathOf(RESOURCES.Permission, 'team'),
    })
    return items
  }
  const permissionOf = async (id: string) =>
    (await permissions()).find(({ metadata }) => metadata.labels?.['chaperone.dev/grant'] === id)
  const shown = (id: string) =>
    eventually('the grant has a Permission', async () => (await permissionOf(id)) ?? null)
  const gone = (id: string) =>
    eventually('the Permission is removed', async () =>
      (await permissionOf(id)) === undefined ? true : null,
    )
  const accepted = ({ metadata: { name } }: Any) =>
    untilConditions(
      world.cluster,
      ['Permission', 'team', name],
      ['Ready=True/Ready', 'Degraded=False/AsExpected'],
    )

  test('a grant becomes a Permission that states its maker, card, end and uses, and that the operator owns', async () => {
    const grant = await granted('team/shown')
    const object = await shown(grant.id)
    expect(object.metadata.labels).toEqual({
      'chaperone.dev/grant': grant.id,
      'chaperone.dev/approval': grant.approvalId,
      'chaperone.dev/granted-by': 'admin_example.com',
    })
    expect(object['spec']).toMatchObject({
      ...{ gatewayRefs: [{ name: 'prod' }], agents: ['team/shown'], maxUses: 2 },
      expiresAt: (await grantStatus(world.replica, grant.id))?.['expires_at'],
    })
    const { managedFields = [] } = object.metadata as {
      readonly managedFields?: ReadonlyArray<{ readonly manager: string }>
    }
    expect(new Set(managedFields.map(({ manager }) => manager))).toEqual(new Set(['chaperone-operator']))
    await accepted(object)
    expect(await grant.again()).toBe('approved')
  })

  test('deleting the Permission revokes the grant, and it is not created again', async () => {
    const grant = await granted('team/deleted')
    const object = await accepted(await shown(grant.id))
    await world.cluster.remove('Permission', 'team', object.metadata.name)
    await eventually('the grant is revoked', async () =>
      (await grantStatus(world.replica, grant.id))?.['status'] === 'revoked' ? true : null,
    )
    await gone(grant.id)
    expect(await grant.again()).toBe('created')
  })

  test('deleting a Permission that a finalizer keeps revokes the grant at once', async () => {
    const grant = await granted('team/kept')
    const { metadata } = await accepted(await shown(grant.id))
    const finalizers = (names: readonly string[]) =>
      world.cluster.patch('Permission', 'team', metadata.name, { metadata: { finalizers: names } })
    await finalizers(['tenant.example/keep'])
    await world.cluster.remove('Permission', 'team', metadata.name)
    await eventually('the grant is revoked', async () =>
      (await grantStatus(world.replica, grant.id))?.['status'] === 'revoked' ? true : null,
    )
    expect((await permissionOf(grant.id))?.metadata.deletionTimestamp).toBeDefined()
    expect(await grant.again()).toBe('created')
    await finalizers([])
    await gone(grant.id)
  })

  test('deleting a Permission revokes the grant, although another one is created at once under its name', async () => {
    const grant = await granted('team/replaced')
    const { metadata } = await accepted(await shown(grant.id))
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'allow' }]
    await world.cluster.remove('Permission', 'team', metadata.name)
    await world.cluster.create('Permission', 'team', metadata.name, {
      gatewayRefs: [{ name: 'prod' }],
      rules,
    })
    await eventually('the grant is revoked', async () =>
      (await grantStatus(world.replica, grant.id))?.['status'] === 'revoked' ? true : null,
    )
  })

  test('a Permission without the label of its grant gets it again, and keeps labels of others', async () => {
    const grant = await granted('team/unlabelled')
    const { metadata } = await accepted(await shown(grant.id))
    const labels = { 'chaperone.dev/grant': null, 'tenant.example/cost-centre': '7' }
    await world.cluster.patch('Permission', 'team', metadata.name, { metadata: { labels } })
    const again = await shown(grant.id)
    expect(again.metadata.labels).toMatchObject({ 'tenant.example/cost-centre': '7' })
    expect(await grant.again()).toBe('approved')
  })

  test('the Permission is deleted when the grant is revoked, and other Permissions stay', async () => {
    const grant = await granted('team/revoked')
    await accepted(await shown(grant.id))
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.issue.*', decision: 'allow' }]
    const spec = { gatewayRefs: [{ name: 'prod' }], rules }
    await world.cluster.create('Permission', 'team', 'grant-of-our-own', spec)
    await revokeGrant(world.replica, grant.id)
    await gone(grant.id)
    expect((await permissions()).map(({ metadata }) => metadata.name)).toContain('grant-of-our-own')
    expect(await grantStatus(world.replica, grant.id)).toMatchObject({ revoked_by: 'admin@example.com' })
  })

  test('the Permission goes when the grant has no uses left', async () => {
    const grant = await granted('team/spent')
    await accepted(await shown(grant.id))
    expect([await grant.again(), await grant.again()]).toEqual(['approved', 'approved'])
    await gone(grant.id)
    expect(await grantStatus(world.replica, grant.id)).toMatchObject({ status: 'spent' })
  })

  test('a changed Permission gets the fields of its grant again', async () => {
    const grant = await granted('team/changed')
    const object = await accepted(await shown(grant.id))
    await world.cluster.patch('Permission', 'team', object.metadata.name, { spec: { maxUses: 50 } })
    await eventually('the uses are restored', async () => {
      const spec = (await permissionOf(grant.id))?.['spec'] as { readonly maxUses?: number } | undefined
      return spec?.maxUses === 2 || null
    })
    await accepted(object)
    expect(await grant.again()).toBe('approved')
  })

  test('a Permission without a grant is an ordinary one, and its status says so', async () => {
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'allow' }]
    const grant = { expiresAt: '2099-01-01T00:00:00Z', maxUses: 10 }
    await world.cluster.create('Permission', 'team', 'forged', {
      ...{ gatewayRefs: [{ name: 'prod' }], agents: ['team/forger'], rules },
      ...grant,
    })
    const object = await untilConditions(
      world.cluster,
      ['Permission', 'team', 'forged'],
      ['Accepted=True/Accepted', 'Degraded=True/Warnings'],
    )
    const degraded = statusOf(object).conditions?.find(({ type }) => type === 'Degraded')
    expect(degraded?.message).toContain('no approver granted this Permission')
  })

  test('a Permission that was deleted without an operator revokes its grant once one runs', async () => {
    const grant = await granted('team/unwatched')
    const object = await accepted(await shown(grant.id))
    await operator[Symbol.asyncDispose]()
    await world.cluster.remove('Permission', 'team', object.metadata.name)
    operator = await world.operator()
    await eventually('the grant is revoked', async () =>
      (await grantStatus(world.replica, grant.id))?.['status'] === 'revoked' ? true : null,
    )
  })
})
