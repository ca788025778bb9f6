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
  })
  afterAll(() => world?.[Symbol.asyncDispose]())

  test('a deleted Gateway is gone at once, also while a call about it hangs', async () => {
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
    await eventually('the Gateway is gone', isGone)
  })

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
  })

  test('takes the finalizer of former versions off, and removes a Gateway that was deleted without an operator', async () => {
    const { cluster, replica } = world
    await cluster.namespace('former')
    const first = await world.operator()
    for (const name of ['held', 'gone']) {
      await cluster.create('Gateway', 'former', name, {})
      await untilConditions(cluster, ['Gateway', 'former', name], ['Ready=True/Ready'])
    }
    expect((await cluster.get('Gateway', 'former', 'held')).metadata.finalizers).toBeUndefined()
    await first[Symbol.asyncDispose]()
    const finalizers = ['chaperone.dev/gateway', 'example.com/other']
    await cluster.patch('Gateway', 'former', 'held', { metadata: { finalizers } })
    await cluster.remove('Gateway', 'former', 'held')
    await cluster.remove('Gateway', 'former', 'gone')
    expect(await isMissing(cluster.get('Gateway', 'former', 'gone'))).toBe(true)
    await using _next = await world.operator()
    await eventually('the finalizer is gone', async () => {
      const { metadata } = await cluster.get('Gateway', 'former', 'held')
      return JSON.stringify(metadata.finalizers) === '["example.com/other"]' || null
    })
    for (const name of ['held', 'gone'])
      await eventually(`the control plane has no Gateway ${name}`, async () => {
        const { status } = await replica.operator('GET', `/api/operator/objects/Gateway/former/${name}`)
        return status === 404 || null
      })
    await cluster.patch('Gateway', 'former', 'held', { metadata: { finalizers: null } })
  })

  test.skipIf(!hasControllers)(
    'a namespace with Gateways still deletes in under a minute, also without an operator',
    async () => {
      const { cluster } = world
      const operator = await world.operator()
      for (const namespace of ['team', 'other']) {
        await cluster.namespace(namespace)
        await cluster.create('Gateway', namespace, 'prod', {})
        await cluster.create('Permission', namespace, 'prs', {
          gatewayRefs: [{ name: 'prod' }],
          rules: [RULE],
        })
        await untilConditions(cluster, ['Gateway', namespace, 'prod'], ['Ready=True/Ready'])
      }
      const gone = async (namespace: string) => {
        const path = pathOf(NAMESPACES, undefined, namespace)
        await cluster.client.call({ method: 'DELETE', path })
        const isGone = () => isMissing(cluster.client.call({ method: 'GET', path }))
        await eventually(`the namespace ${namespace} is gone`, isGone)
      }
      await world.replica.stop()
      await gone('team')
      await operator[Symbol.asyncDispose]()
      await gone('other')
    },
    150_000,
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
