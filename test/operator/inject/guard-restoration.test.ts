import pino from 'pino'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { startGuardRestoration } from '../../../operator/inject/guard-restoration.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeKubeApi, startFakeKubeApi } from '../../support/fake-kube-api.ts'

const CONFIGMAPS = 'api/v1/configmaps'
const WEBHOOKS = 'apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'

let api: FakeKubeApi
let client: KubeClient
let restoration: { stop(): Promise<void> }
let logged: string[]
let events: string[]
/** Times of the calls of the restorers, in milliseconds. */
let calls: Record<'webhook' | 'trust', number[]>
/** Number of calls of each restorer that fail. */
let failures: number

beforeEach(async () => {
  api = await startFakeKubeApi()
  client = createKubeClient(kubeconfigAccess((await api.front('test')).config))
  ;[logged, events, failures] = [[], [], 0]
  calls = { webhook: [], trust: [] }
  api.store.create(WEBHOOKS, { metadata: { name: 'chaperone-injector' } })
  api.store.create(CONFIGMAPS, { metadata: { name: 'chaperone-control-plane-ca', namespace: 'team' } })
  const restorer = (part: keyof typeof calls) => async () => {
    calls[part].push(performance.now())
    if (calls[part].length <= failures) throw new Error('the API server answered 503')
    return true
  }
  restoration = startGuardRestoration({
    client,
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line).msg) }),
    recorder: { record: async ({ kind }, { reason }) => void events.push(`${reason} ${kind}`) },
    restorers: {
      webhook: async () => void (await restorer('webhook')()),
      policy: async () => undefined,
      trust: restorer('trust'),
    },
  })
  await eventually('the objects are watched', () =>
    [WEBHOOKS, CONFIGMAPS].every((path) => api.openWatches(`/${path}`) > 0) ? true : null,
  )
})
afterEach(async () => {
  await restoration.stop()
  client[Symbol.dispose]()
  await api[Symbol.asyncDispose]()
})

function remove(): void {
  api.store.remove(WEBHOOKS, '', 'chaperone-injector')
  api.store.remove(CONFIGMAPS, 'team', 'chaperone-control-plane-ca')
}

// Nothing here refreshes the objects periodically.
test('the watch alone causes the restoration of each deleted object, with one Event each', async () => {
  remove()
  await eventually('the Events are written', () => (events.length === 2 ? true : null), 20_000)
  expect(Object.values(calls).map((each) => each.length)).toEqual([1, 1])
  expect(events.sort()).toEqual(['GuardDeleted ConfigMap', 'GuardDeleted MutatingWebhookConfiguration'])
})

test('a restoration that fails is repeated after 1 to 2 s, then at growing intervals, until it succeeds', async () => {
  failures = 2
  remove()
  await eventually('the Events are written', () => (events.length === 2 ? true : null), 20_000)
  for (const [first = 0, second = 0, third = 0] of Object.values(calls)) {
    // Timers fire up to 1 ms early.
    expect(second - first).toBeGreaterThanOrEqual(999)
    expect(third - second).toBeGreaterThanOrEqual(1_999)
  }
  expect(Object.values(calls).map((each) => each.length)).toEqual([3, 3])
  expect(logged.filter((msg) => msg === 'guard object could not be restored')).toHaveLength(4)
})

test('a stopped operator repeats nothing', async () => {
  failures = 1
  remove()
  await eventually('every restorer has failed', () => (logged.length === 2 ? true : null), 20_000)
  await restoration.stop()
  const counts = () => Object.values(calls).map((each) => each.length)
  const before = counts()
  // A repetition would follow 1 to 2 s after its failure.
  await new Promise((resolve) => setTimeout(resolve, 2_100))
  expect(counts()).toEqual(before)
})
