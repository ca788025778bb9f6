import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { type PodWatchdog, startPodWatchdog } from '../../../operator/inject/pod-watchdog.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeKubeApi, startFakeKubeApi } from '../../support/fake-kube-api.ts'
import { NO_SANDBOXES } from '../../support/golden-pods.ts'

type Line = { readonly msg: string; readonly failures?: readonly { pod: string; problem: string }[] }

let api: FakeKubeApi
let client: KubeClient
let watchdog: PodWatchdog
let logged: Line[]
let changed: string[][]

beforeEach(async () => {
  api = await startFakeKubeApi()
  client = createKubeClient(kubeconfigAccess((await api.front('test')).config))
  logged = []
  changed = []
  for (const name of ['a', 'b', 'c'])
    api.store.create('api/v1/pods', {
      metadata: { name, namespace: 'team', annotations: { 'chaperone.dev/gateway': 'main' } },
      spec: { containers: [{ name: 'agent' }] },
    })
})
afterEach(async () => {
  await watchdog.stop()
  client[Symbol.dispose]()
  await api[Symbol.asyncDispose]()
})

/** Starts the watchdog. The API server answers the eviction of each pod with the status that `statusOf` returns. */
function start(statusOf: (pod: string) => number, through = client): void {
  api.fault(({ method, path }) => {
    const [, pod] = /\/pods\/(.+)\/eviction$/.exec(path) ?? []
    return method === 'POST' && pod !== undefined ? { kind: 'status', status: statusOf(pod) } : null
  })
  watchdog = startPodWatchdog({
    client: through,
    log: pino({ level: 'warn' }, { write: (line: string) => void logged.push(JSON.parse(line)) }),
    recorder: { record: async () => undefined },
    namespaces: { labelsOf: () => ({}), isSynced: () => true },
    ownNamespace: 'chaperone-system',
    config: { images: { proxy: 'chaperone:1', rules: 'chaperone:1' }, evicts: true } as never,
    sandboxes: NO_SANDBOXES,
    onChange: (gateways) => changed.push([...gateways]),
    sweepMs: 20,
  })
}

const evictions = () => api.calls.filter(({ path }) => path.endsWith('/eviction'))
const ofPods = () => evictions().map(({ path }) => path.split('/').at(-2))
const bypassing = () => JSON.stringify([...watchdog.bypassing()])

describe('a sweep whose evictions fail', () => {
  test('finds and tries to evict every pod, and says which pods stayed and why', async () => {
    start((pod) => ({ a: 429, c: 404 })[pod] ?? 201)
    await eventually('the sweep found the pods', () => (bypassing().includes('team/c') ? true : null))
    expect(changed).toEqual([['team/main']])
    const failed = await eventually(
      'the failure is logged',
      () => logged.find(({ msg }) => msg === 'ungoverned pods could not be evicted') ?? null,
    )
    expect(new Set(ofPods())).toEqual(new Set(['a', 'b', 'c']))
    // The eviction of a pod that no longer exists is no failure.
    expect(failed.failures).toEqual([
      { pod: 'team/a', problem: expect.stringContaining('The API server answered 429') },
    ])
    const count = evictions().length
    await eventually('two more sweeps', () => (evictions().length > count + 6 ? true : null))
    expect(logged.filter(({ failures }) => failures !== undefined)).toHaveLength(1)
  })

  test('does not wait for the evictions with its findings', async () => {
    const pending: string[] = []
    const call: KubeClient['call'] = (given) => {
      if (!given.path.endsWith('/eviction')) return client.call(given)
      pending.push(given.path)
      return new Promise(() => undefined)
    }
    start(() => 201, { ...client, call })
    await eventually('an eviction is pending', () => (pending.length > 0 ? true : null))
    expect(bypassing()).toContain('team/a')
  })
})
