import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { ClusterOperator } from '../../../operator/cluster-operator.ts'
import { openStream, type Replica } from '../../controlplane/sync/harness.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import {
  type ClusterWorld,
  runGateway,
  SYSTEM,
  startClusterWorld,
  statusOf,
  untilConditions,
} from './world.ts'

const CONFIG_MAPS = { base: '/api/v1', plural: 'configmaps' }

describe.skipIf(kubeAssets() === null)(`stops by kubectl (${KUBE_ASSETS_HINT})`, () => {
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
  const stopped = (replica: Replica, source: string, count: number) =>
    eventually(`${source} has ${count} stops`, () =>
      stopsOf(replica, source).length === count ? stopsOf(replica, source) : null,
    )

  test('a Gateway stops its own gateways at once on every replica, says how many, and lets them go again', async () => {
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
    await eventually('both are counted', async () =>
      statusOf(await cluster.get('Gateway', 'team', 'prod'))['killed'] === '2 of 2' ? true : null,
    )
    expect(statusOf(shown).conditions?.find(({ type }) => type === 'KillSwitchActive')?.message).toContain(
      'runaway',
    )
    expect(foreign.messages.filter((m) => m.type === 'kill' && m.effective.length > 0)).toEqual([])
    await kill(false)
    await stopped(replica, 'manifest:team/prod', 0)
    await stopped(second, 'manifest:team/prod', 0)
    await eventually('the status says so', async () => {
      const status = statusOf(await cluster.get('Gateway', 'team', 'prod'))
      const types = status.conditions?.map(({ type }) => type)
      return status['killed'] === undefined && !types?.includes('KillSwitchActive') ? true : null
    })
    foreign.close()
    await here.close()
    await there.close()
  })

  test('is effective in under three seconds when the leading operator dies in the middle', async () => {
    await eventually('one of them leads', () => (operators.some((each) => each.isLeader()) ? true : null))
    const leader = operators.find((each) => each.isLeader())
    const startedAt = performance.now()
    const patched = kill(true, 'in the middle')
    await leader?.[Symbol.asyncDispose]()
    await patched
    for (const replica of [world.replica, second])
      expect(await stopped(replica, 'manifest:team/prod', 1)).toMatchObject([{ reason: 'in the middle' }])
    expect(performance.now() - startedAt).toBeLessThan(3_000)
    await kill(false)
    await stopped(world.replica, 'manifest:team/prod', 0)
  })

  test('the emergency ConfigMap stops everything, is latched when it is deleted, and lets go only by saying so', async () => {
    const { cluster, replica } = world
    const map = (data: Record<string, string>) => ({
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'chaperone-emergency' }, data },
    })
    await cluster.createRaw(CONFIG_MAPS, SYSTEM, map({ active: 'true', reason: 'all hands' }))
    for (const each of [replica, second])
      expect(await stopped(each, 'configmap', 1)).toMatchObject([{ scope: 'all', reason: 'all hands' }])
    await untilConditions(cluster, ['Gateway', 'team', 'prod'], ['KillSwitchActive=True/Emergency'])
    await cluster.remove('ConfigMap', SYSTEM, 'chaperone-emergency')
    const asked = await world.asked('get configmaps')
    await eventually('all looked again', async () =>
      (await world.asked('get configmaps')) > asked + 4 ? true : null,
    )
    expect(stopsOf(replica, 'configmap')).toHaveLength(1)
    await cluster.createRaw(
      CONFIG_MAPS,
      SYSTEM,
      map({ active: 'true', scopes: 'connector:codehost, agent:team/x' }),
    )
    await stopped(replica, 'configmap', 2)
    await cluster.patch('ConfigMap', SYSTEM, 'chaperone-emergency', { data: { active: 'false' } })
    await stopped(replica, 'configmap', 0)
    await stopped(second, 'configmap', 0)
  })

  test('a stop that somebody lifted in the control plane alone comes back: the cluster still says so', async () => {
    await kill(true)
    await stopped(world.replica, 'manifest:team/prod', 1)
    const { db } = world.replica
    // It is in force before it is stored.
    await eventually('it was stored and is lifted', async () =>
      (await db.query('delete from kill_switches')).rowCount === 1 ? true : null,
    )
    await world.replica.hub.kill.refresh()
    await eventually('it is stored again', async () =>
      (await db.query('select source from kill_switches')).rowCount === 1 ? true : null,
    )
    await stopped(world.replica, 'manifest:team/prod', 1)
    await world.cluster.remove('Gateway', 'team', 'prod')
    await stopped(world.replica, 'manifest:team/prod', 0)
  })
})
