import { describe, expect, test } from 'vitest'
import { hasCode } from '../../../operator/kube/kube-failure.ts'
import { pathOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { KUBE_ASSETS_HINT, kubeAssets } from '../../support/kube-api-server.ts'
import { startTcpRelay } from '../../support/tcp-relay.ts'
import { startClusterWorld, untilConditions } from './world.ts'

const assets = kubeAssets()
const NAMESPACES = { base: '/api/v1', plural: 'namespaces' }
const RULE = { connectorType: 'codehost', actionPattern: 'codehost.pr.*', decision: 'allow' }

describe.skipIf(assets === null)(`without a control plane (${KUBE_ASSETS_HINT})`, () => {
  test.skipIf(assets?.controllerManager == null)(
    'a namespace with Gateways still deletes in under a minute',
    async () => {
      await using world = await startClusterWorld({ withControllers: true })
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

  test('a deleted Gateway is released while a call about it hangs', async () => {
    await using world = await startClusterWorld()
    await using relay = await startTcpRelay(world.replica.url)
    const { cluster } = world
    await cluster.namespace('team')
    await world.operator({ controlPlaneUrl: relay.url, peers: [world.replica.url] })
    await cluster.create('Gateway', 'team', 'prod', {})
    await untilConditions(cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
    // Larger than all other requests of the operator together.
    const allowedHosts = Array.from(
      { length: 200 },
      (_, index) => `${'x'.repeat(40)}-${index}.example.com:443`,
    )
    relay.swallow()
    const before = relay.swallowed
    await cluster.patch('Gateway', 'team', 'prod', { spec: { egress: { allowedHosts } } })
    await eventually('the push is in flight', async () => relay.swallowed > before + 8_000 || null)
    await cluster.remove('Gateway', 'team', 'prod')
    const isGone = () => isMissing(cluster.get('Gateway', 'team', 'prod'))
    await eventually('the Gateway is gone', isGone, 30_000)
  }, 60_000)

  test('an operator that starts during an outage reports it, and pushes when the control plane is back', async () => {
    await using world = await startClusterWorld()
    const { cluster } = world
    await cluster.namespace('team')
    await cluster.create('Gateway', 'team', 'prod', {})
    const operator = await world.operator({ controlPlaneUrl: 'http://127.0.0.1:1' })
    const waiting = ['Accepted=Unknown/Pending', 'Ready=Unknown/Pending']
    await untilConditions(cluster, ['Gateway', 'team', 'prod'], waiting)
    const health = await fetch(`http://127.0.0.1:${operator.healthPort}/readyz`)
    expect([health.status, await health.json()]).toEqual([
      200,
      { synced: 'ok', watches: 'ok', 'kill-switches': 'ok' },
    ])
    await operator[Symbol.asyncDispose]()
    await world.operator()
    await untilConditions(cluster, ['Gateway', 'team', 'prod'], ['Ready=True/Ready'])
  })
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
