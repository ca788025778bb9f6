import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { matchKill } from '../../../core/decision/kill-switch/kill-switch.ts'
import type { ClusterOperator } from '../../../operator/cluster/cluster-operator.ts'
import { openStream, type Replica } from '../../controlplane/sync/harness.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import {
  type ClusterWorld,
  conditions,
  runGateway,
  SYSTEM,
  startClusterWorld,
  statusOf,
  untilConditions,
} from './world.ts'

describe.skipIf(kubeAssets() === null)(`kill switches by kubectl (${KUBE_ASSETS_HINT})`, () => {
  let world: ClusterWorld
  let second: Replica
  let operators: ClusterOperator[]
  beforeAll(async () => {
    world = await startClusterWorld()
    second = await world.control.replica()
    await world.cluster.namespace('team')
    await world.cluster.create('Gateway', 'team', 'prod', {})
    await world.cluster.create('Gateway', 'team', 'other', {})
  })
  afterAll(async () => world?.[Symbol.asyncDispose]())
  beforeEach(async () => {
    const peers = [world.replica.url, second.url]
    operators = [await world.operator({ peers }), await world.operator({ peers })]
    await untilConditions(world.cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
  })
  afterEach(async () => {
    for (const operator of operators) await operator[Symbol.asyncDispose]()
  })

  const kill = (active: boolean, reason = 'runaway') =>
    world.cluster.patch('Gateway', 'team', 'prod', { spec: { killSwitch: { active, reason } } })
  const stopsOf = (replica: Replica, source: string) =>
    replica.hub.kill.effective().filter((entry) => entry.source === source)
  const killSwitchesOf = (replica: Replica, source: string, count: number) =>
    eventually(`${source} has ${count} kill switches`, () =>
      stopsOf(replica, source).length === count ? stopsOf(replica, source) : null,
    )

  test('a kill switch of a Gateway reaches its gateways through every replica, is counted in the status, and is lifted again', async () => {
    const { replica, cluster } = world
    const enrolled = await replica.enrol('team/prod')
    const here = await runGateway(replica, enrolled, 'proc_here')
    const there = await runGateway(second, enrolled, 'proc_there')
    const foreign = await openStream(replica, await replica.enrol('team/other'))
    await kill(true)
    for (const { stream } of [here, there]) {
      const { effective } = await stream.next('kill', (message) => message.effective.length > 0)
      expect(effective).toMatchObject([
        { scope: 'gateway:team/prod', source: 'manifest:team/prod', reason: 'runaway' },
      ])
    }
    const shown = await untilConditions(
      cluster,
      ['Gateway', 'team', 'prod'],
      ['KillSwitchActive=True/Gateway'],
    )
    await eventually('both are counted', async () => {
      const { connected, killed } = statusOf(await cluster.get('Gateway', 'team', 'prod'))['gateways'] as {
        connected: number
        killed?: number
      }
      return connected === 2 && killed === 2 ? true : null
    })
    expect(statusOf(shown).conditions?.find(({ type }) => type === 'KillSwitchActive')?.message).toContain(
      'runaway',
    )
    expect(foreign.messages.filter((m) => m.type === 'kill' && m.effective.length > 0)).toEqual([])
    await kill(false)
    await killSwitchesOf(replica, 'manifest:team/prod', 0)
    await killSwitchesOf(second, 'manifest:team/prod', 0)
    await eventually('the status says so', async () => {
      const gateway = await cluster.get('Gateway', 'team', 'prod')
      const isOff = conditions(gateway).includes('KillSwitchActive=False/NotActive')
      return isOff && !('killed' in (statusOf(gateway)['gateways'] as object)) ? true : null
    })
    foreign.close()
    await here.close()
    await there.close()
  })

  test('is in force although the leader crashes', async () => {
    await eventually('one of them leads', () => (operators.some((each) => each.isLeader()) ? true : null))
    const leader = operators.find((each) => each.isLeader())
    const patched = kill(true, 'in the middle')
    await leader?.[Symbol.asyncDispose]()
    await patched
    for (const replica of [world.replica, second])
      expect(await killSwitchesOf(replica, 'manifest:team/prod', 1)).toMatchObject([
        { reason: 'in the middle' },
      ])
    await kill(false)
    await killSwitchesOf(world.replica, 'manifest:team/prod', 0)
  })

  const emergency = (namespace: string, data: Record<string, string | null>) =>
    world.cluster.patch('ConfigMap', namespace, 'chaperone-emergency', { data })
  const untilMade = (namespace: string) =>
    eventually(`${namespace} has its ConfigMap`, () =>
      world.cluster.get('ConfigMap', namespace, 'chaperone-emergency').catch(() => null),
    )

  type Managed = { readonly manager: string; readonly fieldsV1?: Readonly<Record<string, unknown>> }
  const ownersOfData = async (namespace: string) => {
    const { metadata } = await world.cluster.get('ConfigMap', namespace, 'chaperone-emergency')
    const { managedFields = [] } = metadata as { readonly managedFields?: readonly Managed[] }
    expect(managedFields.map(({ manager }) => manager)).toContain('chaperone-operator')
    return managedFields.filter(({ fieldsV1 }) => fieldsV1?.['f:data']).map(({ manager }) => manager)
  }
  /** As Flux and Argo CD apply it from Git, where it has no data. */
  const applyFromGit = (namespace: string, fieldManager: string) =>
    world.cluster.client.call({
      method: 'PATCH',
      path: `/api/v1/namespaces/${namespace}/configmaps/chaperone-emergency`,
      query: { fieldManager, force: true },
      contentType: 'application/apply-patch+yaml',
      body: {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'chaperone-emergency', namespace, annotations: { from: fieldManager } },
      },
    })

  test('the data of the emergency ConfigMap has no owner until a user writes it, and no apply from Git reverts it', async () => {
    const { cluster } = world
    await cluster.namespace('drill')
    await cluster.create('Gateway', 'drill', 'main', {})
    await untilMade('drill')
    expect(await ownersOfData('drill')).toEqual([])
    expect((await cluster.get('ConfigMap', 'drill', 'chaperone-emergency')) as object).not.toHaveProperty(
      'data',
    )
    await emergency('drill', { active: 'true', reason: 'drill' })
    const owners = await ownersOfData('drill')
    expect(owners).toHaveLength(1)
    for (const tool of ['kustomize-controller', 'argocd-controller']) await applyFromGit('drill', tool)
    expect(await ownersOfData('drill')).toEqual(owners)
    expect(await cluster.get('ConfigMap', 'drill', 'chaperone-emergency')).toMatchObject({
      data: { active: 'true', reason: 'drill' },
      metadata: { annotations: { from: 'argocd-controller' } },
    })
    await killSwitchesOf(world.replica, 'configmap:drill', 1)
    await emergency('drill', { active: 'false' })
    await killSwitchesOf(world.replica, 'configmap:drill', 0)
  })

  test('the emergency ConfigMap reaches everything, stays in force when it is deleted, and is lifted only by `active`', async () => {
    const { cluster, replica } = world
    const made = await untilMade(SYSTEM)
    expect(made['data']).toBeUndefined()
    await emergency(SYSTEM, { active: 'true', reason: 'all hands' })
    for (const each of [replica, second])
      expect(await killSwitchesOf(each, 'configmap', 1)).toMatchObject([
        { scope: 'all', reason: 'all hands' },
      ])
    await untilConditions(cluster, ['Gateway', 'team', 'prod'], ['KillSwitchActive=True/Emergency'])
    await cluster.remove('ConfigMap', SYSTEM, 'chaperone-emergency')
    expect((await untilMade(SYSTEM))['data']).toBeUndefined()
    const asked = await world.asked('watch configmaps')
    await eventually('all looked again', async () =>
      (await world.asked('watch configmaps')) > asked + 4 ? true : null,
    )
    expect(stopsOf(replica, 'configmap')).toHaveLength(1)
    await emergency(SYSTEM, { active: 'true', scopes: 'connector:codehost, agent:team/x' })
    await killSwitchesOf(replica, 'configmap', 2)
    await emergency(SYSTEM, { active: 'false' })
    await killSwitchesOf(replica, 'configmap', 0)
    await killSwitchesOf(second, 'configmap', 0)
  })

  test('the ConfigMap of a namespace reaches its Gateways, and its agents under other Gateways, and nothing else', async () => {
    const { cluster, replica } = world
    await cluster.namespace('tenant')
    await cluster.create('Gateway', 'tenant', 'edge', {})
    await untilConditions(cluster, ['Gateway', 'tenant', 'edge'], ['Ready=True/Ready'])
    await untilMade('tenant')
    await emergency('tenant', { active: 'true', reason: 'ours' })
    for (const each of [replica, second])
      expect(await killSwitchesOf(each, 'configmap:tenant', 1)).toMatchObject([
        { scope: 'namespace:tenant', reason: 'ours' },
      ])
    await untilConditions(cluster, ['Gateway', 'tenant', 'edge'], ['KillSwitchActive=True/Emergency'])
    const hits = (gateway: string, agent: string) =>
      matchKill(second.hub.kill.effective(), {
        gateway,
        agent,
        agentId: null,
        instance: null,
        connectors: ['codehost'],
      })
    const subjects = [
      ['tenant/edge', 'team/guest'],
      ['team/prod', 'tenant/bot'],
    ] as const
    for (const [gateway, agent] of subjects) expect(hits(gateway, agent)?.reason).toBe('ours')
    expect(hits('team/prod', 'team/bot')).toBeNull()
    await emergency('tenant', { scopes: 'connector:codehost all-of-team/x agent:team/bot' })
    const { message } = await eventually('the scopes of others are none', () => {
      const scopes = stopsOf(replica, 'configmap:tenant').map(({ scope }) => scope)
      return scopes.length === 2 ? { message: scopes } : null
    })
    expect([...message].sort()).toEqual(['connector:codehost', 'namespace:tenant'])
    expect(hits('team/prod', 'team/bot')).toBeNull()
    await emergency('tenant', { active: 'false' })
    for (const each of [replica, second]) await killSwitchesOf(each, 'configmap:tenant', 0)
  })

  test('a kill switch that was lifted in the control plane only is relayed again', async () => {
    await kill(true)
    await killSwitchesOf(world.replica, 'manifest:team/prod', 1)
    const { db } = world.replica
    // It is in force before it is stored.
    await eventually('it was stored and is lifted', async () =>
      (await db.query('delete from kill_switches')).rowCount === 1 ? true : null,
    )
    await world.replica.hub.kill.refresh()
    await eventually('it is stored again', async () =>
      (await db.query('select source from kill_switches')).rowCount === 1 ? true : null,
    )
    await killSwitchesOf(world.replica, 'manifest:team/prod', 1)
    await world.cluster.remove('Gateway', 'team', 'prod')
    await killSwitchesOf(world.replica, 'manifest:team/prod', 0)
  })
})
