import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hasCode } from '../../../operator/kube/kube-failure.ts'
import { pathOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { startTcpRelay } from '../../support/tcp-relay.ts'
import { type ClusterWorld, startClusterWorld, untilConditions } from './world.ts'

const assets = kubeAssets()
const NAMESPACES = { base: '/api/v1', plural: 'namespaces' }
const RULE = { connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'allow' }

/** An API server costs seconds of CPU time: one for all tests, each in a namespace of its own. The last one stops the control plane. */
describe.skipIf(assets === null)(`without a control plane (${KUBE_ASSETS_HINT})`, () => {
  const hasControllers = assets?.controllerManager != null
  let world: ClusterWorld
  beforeAll(async () => {
    world = await startClusterWorld({ withControllers: hasControllers })
  }, 120_000)
  afterAll(() => world?.[Symbol.asyncDispose](), 30_000)

  test('a deleted Gateway is released while a call about it hangs', async () => {
    await using started = new AsyncDisposableStack()
    const relay = await startTcpRelay(world.replica.url)
    const { cluster } = world
    await cluster.namespace('hanging')
    started.use(await world.operator({ controlPlaneUrl: relay.url, peers: [world.replica.url] }))
    // Ends before the operator, whose call hangs in it.
    started.use(relay)
    await cluster.create('Gateway', 'hanging', 'prod', {})
    await untilConditions(cluster, ['Gateway', 'hanging', 'prod'], ['Ready=True/Ready'])
    // Larger than all other requests of the operator together.
    const allowedHosts = Array.from(
      { length: 200 },
      (_, index) => `${'x'.repeat(40)}-${index}.example.com:443`,
    )
    relay.swallow()
    const before = relay.swallowed
    await cluster.patch('Gateway', 'hanging', 'prod', { spec: { egress: { allowedHosts } } })
    await eventually('the push is in flight', async () => relay.swallowed > before + 8_000 || null)
    await cluster.remove('Gateway', 'hanging', 'prod')
    const isGone = () => isMissing(cluster.get('Gateway', 'hanging', 'prod'))
    await eventually('the Gateway is gone', isGone, 30_000)
  }, 60_000)

  test('an operator that starts during an outage reports it, and pushes when the control plane is back', async () => {
    const { cluster } = world
    await cluster.namespace('starting')
    await cluster.create('Gateway', 'starting', 'prod', {})
    const operator = await world.operator({ controlPlaneUrl: 'http://127.0.0.1:1' })
    const waiting = ['Accepted=Unknown/Pending', 'Ready=Unknown/Pending']
    await untilConditions(cluster, ['Gateway', 'starting', 'prod'], waiting)
    const health = await fetch(`http://127.0.0.1:${operator.healthPort}/readyz`)
    expect([health.status, await health.json()]).toEqual([
      200,
      { synced: 'ok', watches: 'ok', 'kill-switches': 'ok' },
    ])
    await operator[Symbol.asyncDispose]()
    await using _next = await world.operator()
    await untilConditions(cluster, ['Gateway', 'starting', 'prod'], ['Ready=True/Ready'])
  }, 60_000)

  test.skipIf(!hasControllers)(
    'a namespace with Gateways still deletes in under a minute',
    async () => {
      const { cluster } = world
      await cluster.namespace('team')
      await world.operator()
      await cluster.create('Gateway', 'team', 'prod', {})
      await cluster.create('Permission', 'team', 'prs', { gatewayRefs: [{ name: 'prod' }], rules: [RULE] })
      const gateway = await untilConditions(cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
      expect(gateway.metadata.finalizers).toEqual(['chaperone.dev/gateway'])
      await world.replica.stop()
      const path = pathOf(NAMESPACES, undefined, 'team')
      await cluster.client.call({ method: 'DELETE', path })
      const isGone = () => isMissing(cluster.client.call({ method: 'GET', path }))
      await eventually('the namespace is gone', isGone, 60_000)
    },
    120_000,
  )
})

async function isMissing(asked: Promise<unknown>): Promise<true | null> {
  try {
    await asked
    return null
  } catch (error) {
    if (hasCode(error, 'not_found')) return true
    throw error
  }
}
