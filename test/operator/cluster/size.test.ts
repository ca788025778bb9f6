import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { GatewayProcess } from '../../../core/wire/operator/operator.ts'
import {
  type ClusterOperator,
  type ClusterTiming,
  createClusterOperator,
} from '../../../operator/cluster/cluster-operator.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeKubeApi, fakeKubeconfig, startFakeKubeApi } from '../../support/fake-kube-api.ts'
import { NO_FLOORS } from '../../support/no-floors.ts'
import { type StubControlPlane, startStubControlPlane } from '../../support/stub-control-plane.ts'

const GATEWAYS = 'apis/chaperone.dev/v1alpha1/gateways'
const PODS = 'api/v1/pods'
let api: FakeKubeApi
let control: StubControlPlane
let folder: string
let operator: ClusterOperator | null

beforeEach(async () => {
  operator = null
  folder = await mkdtemp(join(tmpdir(), 'chaperone-size-'))
  await writeFile(join(folder, 'token'), 'token')
  // Bookmarks at the interval of a real API server.
  api = await startFakeKubeApi({ bookmarkMs: 60_000 })
  control = await startStubControlPlane()
})
afterEach(async () => {
  vi.useRealTimers()
  await operator?.[Symbol.asyncDispose]()
  await control[Symbol.asyncDispose]()
  await api[Symbol.asyncDispose]()
  await rm(folder, { recursive: true, force: true })
})

async function start(timing: ClusterTiming = {}): Promise<ClusterOperator> {
  const kubeconfig = join(folder, 'kubeconfig')
  await writeFile(kubeconfig, fakeKubeconfig((await api.front('operator')).url))
  operator = await createClusterOperator({
    log: pino({ level: process.env.TEST_LOG ?? 'silent' }, pino.destination({ dest: 2, sync: true })),
    timing,
    config: {
      ...{
        mode: 'cluster',
        namespace: 'system',
        podName: 'one',
        leaseName: 'lease',
        podApi: null,
        kubeconfig,
      },
      ...{ controlPlaneUrl: control.url, peers: [], peersHost: null, controlPlaneCaFile: null },
      ...{ operatorTokenFile: join(folder, 'token'), floorRules: NO_FLOORS },
      ...{ healthHost: '127.0.0.1', healthPort: 0, logLevel: 'silent' },
    },
  })
  return operator
}

function createGateways(count: number): void {
  for (const namespace of ['system', 'team'])
    api.store.create('api/v1/configmaps', { metadata: { name: 'chaperone-emergency', namespace } })
  for (let i = 0; i < count; i += 1)
    api.store.create(GATEWAYS, {
      ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway', spec: GatewaySpec.parse({}) },
      metadata: { name: `g${i}`, namespace: 'team' },
    })
}

function pod(name: string, gateway: string, ready: boolean) {
  return {
    metadata: {
      ...{ name, namespace: 'team', labels: { 'chaperone.dev/inject': 'injected' } },
      annotations: {
        'chaperone.dev/agent': name,
        'chaperone.dev/injected': JSON.stringify({ gateway, agent: name }),
      },
    },
    status: { phase: 'Running', initContainerStatuses: [{ name: 'chaperone-proxy', ready }] },
  }
}

const statusesWritten = () => api.calls.filter(({ path }) => path.endsWith('/status')).map(({ path }) => path)

/** Number of reconciles of all objects, from the metrics of the operator. */
async function reconciles(): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${operator?.healthPort}/metrics`)
  const lines = (await answer.text())
    .split('\n')
    .filter((line) => line.startsWith('svc_operator_reconciles_total'))
  return lines.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

async function untilQuiet(): Promise<void> {
  let last = -1
  await eventually('nothing is reconciled any more', async () => {
    const now = (await reconciles()) + statusesWritten().length
    const isQuiet = now === last && now > 0
    last = now
    return isQuiet ? true : null
  })
}

const SIZE = { gateways: 500, pods: 5_000 }
const NEVER = 600_000
const LEADER = { sweepMs: NEVER, secretsMs: NEVER, stateMs: 20, countsMs: 100, grantsMs: NEVER }

describe(`at ${SIZE.gateways} Gateways and ${SIZE.pods} pods`, () => {
  test('an event of a pod or of a gateway process reconciles and writes its own Gateway only', async () => {
    createGateways(SIZE.gateways)
    for (let i = 0; i < SIZE.pods; i += 1)
      api.store.create(PODS, pod(`p${i}`, `team/g${i % SIZE.gateways}`, true))
    await start({ leader: LEADER })
    await eventually('all statuses are written', () =>
      api.store.list(GATEWAYS).every((each) => each['status'] !== undefined) ? true : null,
    )
    await untilQuiet()
    const counts = (name: string) =>
      (api.store.get(GATEWAYS, 'team', name)?.['status'] as { pods?: object } | undefined)?.pods
    expect(counts('g7')).toEqual({ governed: 10, ready: 10 })
    const [before, written] = [await reconciles(), statusesWritten().length]

    api.store.replace(PODS, { ...api.store.get(PODS, 'team', 'p7'), ...pod('p7', 'team/g7', false) })
    await eventually('the pod is counted', () =>
      JSON.stringify(counts('g7')) === '{"governed":10,"ready":9}' ? true : null,
    )
    await untilQuiet()
    expect(statusesWritten().slice(written)).toEqual([
      '/apis/chaperone.dev/v1alpha1/namespaces/team/gateways/g7/status',
    ])
    // Once for the pod, and once for the watch event of the written status.
    expect((await reconciles()) - before).toBeLessThanOrEqual(2)

    const process = {
      gateway: 'team/g9',
      process_id: 'p',
      covered_version: 1,
      has_kill_state: true,
      rejected: null,
    }
    const [reconciled, known] = [await reconciles(), statusesWritten().length]
    control.setProcesses([GatewayProcess.parse(process)])
    await eventually('the process is counted', () => (statusesWritten().length > known ? true : null))
    await untilQuiet()
    expect(statusesWritten().slice(known)).toEqual([
      '/apis/chaperone.dev/v1alpha1/namespaces/team/gateways/g9/status',
    ])
    expect((await reconciles()) - reconciled).toBeLessThanOrEqual(2)
  })

  test('changes of counts alone are written once per interval, and the last one is never lost', async () => {
    createGateways(1)
    const countsMs = 400
    await start({ leader: { ...LEADER, countsMs } })
    const status = () => api.store.get(GATEWAYS, 'team', 'g0')?.['status'] as { pods?: { governed?: number } }
    await eventually('the status is written', () => (status() === undefined ? null : true))
    const written = statusesWritten().length
    const startedAt = performance.now()
    for (let i = 0; i < 50; i += 1) {
      api.store.create(PODS, pod(`p${i}`, 'team/g0', true))
      await new Promise((resolve) => setTimeout(resolve, 4))
    }
    await eventually('all are counted', () => (status().pods?.governed === 50 ? true : null))
    // The machine decides how many intervals pass meanwhile.
    const intervals = (performance.now() - startedAt) / countsMs
    expect(statusesWritten().length - written).toBeLessThanOrEqual(1 + Math.ceil(intervals))
  })
})

describe('at rest', () => {
  /** Advances the clock in small steps, between which sockets deliver what is due. */
  async function advance(ms: number): Promise<void> {
    for (let passed = 0; passed < ms; passed += 100) {
      await vi.advanceTimersByTimeAsync(100)
      for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
    }
  }
  const setImmediate = globalThis.setImmediate
  const isLease = (path: string) => path.includes('/leases')
  const listsOf = (since: number) =>
    api.calls.slice(since).filter(({ isWatch, path }) => !isWatch && !isLease(path))

  test('the API server receives watches, the lease and one cached list of Gateways every 10 s; while the watch is broken a list every 2 s', async () => {
    await api[Symbol.asyncDispose]()
    vi.useFakeTimers({
      toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'],
    })
    api = await startFakeKubeApi({ bookmarkMs: 60_000 })
    createGateways(3)
    const starting = start()
    for (let i = 0; i < 100 && operator === null; i += 1) {
      await vi.advanceTimersByTimeAsync(10)
      await new Promise(setImmediate)
    }
    await starting
    await advance(100_000)
    const settled = api.calls.length
    const asked = control.calls.length
    await advance(120_000)
    const lists = listsOf(settled)
    expect(new Set(lists.map(({ method, path, query }) => `${method} ${path}?${query}`))).toEqual(
      new Set(['GET /apis/chaperone.dev/v1alpha1/gateways?resourceVersion=0']),
    )
    expect(lists.length).toBeGreaterThanOrEqual(9)
    expect(lists.length).toBeLessThanOrEqual(12)
    // The state is a long poll: the stub holds it.
    const polls = control.calls.slice(asked).filter((call) => call === 'GET /api/operator/state').length
    // The relay of kill switches compares the replica every 5 s.
    expect(polls).toBeLessThanOrEqual(120 / 5 + 1)

    const fault = api.fault(({ isWatch, path }) =>
      isWatch && path.endsWith('/gateways') ? { kind: 'status', status: 500 } : null,
    )
    api.endWatches()
    await advance(4_000)
    const broken = api.calls.length
    await advance(20_000)
    const during = listsOf(broken).filter(({ path }) => path.endsWith('/gateways'))
    expect(during.length).toBeGreaterThanOrEqual(9)
    expect(during.length).toBeLessThanOrEqual(11)
    fault[Symbol.dispose]()
    await advance(40_000)
    const back = api.calls.length
    await advance(30_000)
    expect(listsOf(back).length).toBeLessThanOrEqual(3)
  })
})
