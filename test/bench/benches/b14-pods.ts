import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { eventually } from '../../support/eventually.ts'
import { type FakeKubeApi, fakeKubeconfig, startFakeKubeApi } from '../../support/fake-kube-api.ts'
import { cpuUs, end, type Served, serve } from '../../support/processes.ts'
import { startStubControlPlane } from '../../support/stub-control-plane.ts'
import type { Bench } from '../main.ts'
import { reviewTimes } from '../support/admission-reviews.ts'
import { quantile } from '../support/load.ts'
import { untilQuiet } from '../support/measure.ts'
import { absolute, type Row } from '../support/report.ts'

const OPERATOR = new URL('../../../operator/main.ts', import.meta.url).pathname
const GATEWAYS = 'apis/chaperone.dev/v1alpha1/gateways'
const PODS = 'api/v1/pods'
const SYSTEM = 'chaperone-system'
const NAMESPACE = 'team'
/** Gateway of the pods that are admitted. */
const MAIN = 'main'
const EVENTS_PER_SECOND = 200
const BATCHES_PER_SECOND = 20

/**
 * One operator with 500 Gateways and 5,000 governed pods of an API server in this process: CPU time of the operator for
 * each event of a pod that changes the counts of its Gateway, and the time of an admission during 200 such events a
 * second.
 */
export const governedPods: Bench = async ({ bed, isQuick }) => {
  const size = isQuick ? { gateways: 50, pods: 500 } : { gateways: 500, pods: 5_000 }
  const folder = join(bed.folder, 'b14-pods')
  mkdirSync(folder)
  await using api = await startFakeKubeApi({ bookmarkMs: 60_000 })
  await using plane = await startStubControlPlane()
  fill(api, size)
  const { url, config } = await api.front('operator')
  const operator = await startOperator(folder, { api: url, controlPlane: plane.url })
  using client = createKubeClient(kubeconfigAccess(config))
  try {
    await eventually(
      'all statuses are written',
      () => (api.store.list(GATEWAYS).every(({ status }) => status !== undefined) ? true : null),
      120_000,
    )
    await eventually(
      'the webhook answers',
      () =>
        reviewTimes(client, { count: 20, lanes: 1 }).then(
          () => true,
          () => null,
        ),
      60_000,
    )
    await untilQuiet(operator.pid)
    const world = { api, client, operator, size }
    return [await eventCost(world, isQuick ? 2 : 10), ...(await admission(world, isQuick ? 200 : 4_000))]
  } finally {
    await end(operator.child)
  }
}

type Size = { readonly gateways: number; readonly pods: number }
type World = {
  readonly api: FakeKubeApi
  readonly client: KubeClient
  readonly operator: Served
  readonly size: Size
}

/** CPU milliseconds for each event, without the CPU time that the operator takes at rest. */
async function eventCost({ api, operator, size }: World, seconds: number): Promise<Row> {
  const restUs = await cpuDuring(operator, () => sleep(seconds * 1_000))
  let events = 0
  const busyUs = await cpuDuring(operator, async () => {
    events = await changePods(api, size, AbortSignal.timeout(seconds * 1_000))
  })
  const figure = `operator at ${size.gateways} Gateways and ${size.pods} pods, CPU of a pod event: ms`
  return absolute('B14', figure, (busyUs - restUs) / events / 1_000, 5)
}

async function admission({ api, client, size }: World, count: number): Promise<Row[]> {
  const ended = new AbortController()
  const changing = changePods(api, size, ended.signal)
  const times = await reviewTimes(client, { count, lanes: 1 })
  ended.abort()
  await changing
  const figure = `webhook during ${EVENTS_PER_SECOND} pod events a second`
  return [
    absolute('B14', `${figure}: p50 ms`, quantile(times, 0.5), null),
    absolute('B14', `${figure}: p99 ms of ${count}`, quantile(times, 0.99), 100),
  ]
}

/** Changes the readiness of one pod after the other until the signal is aborted. Resolves with the number of changes. */
async function changePods(api: FakeKubeApi, size: Size, signal: AbortSignal): Promise<number> {
  const startedAt = performance.now()
  let changed = 0
  while (!signal.aborted) {
    const due = ((performance.now() - startedAt) / 1_000) * EVENTS_PER_SECOND
    for (; changed < due; changed += 1) {
      const n = changed % size.pods
      const isReady = Math.floor(changed / size.pods) % 2 === 1
      api.store.replace(PODS, { ...api.store.get(PODS, NAMESPACE, `p${n}`), ...pod(n, size, isReady) })
    }
    await sleep(1_000 / BATCHES_PER_SECOND)
  }
  return changed
}

async function cpuDuring({ pid }: Served, work: () => Promise<unknown>): Promise<number> {
  const before = cpuUs(pid)
  await work()
  return cpuUs(pid) - before
}

function fill({ store }: FakeKubeApi, size: Size): void {
  for (const name of [SYSTEM, NAMESPACE]) {
    store.create('api/v1/namespaces', { metadata: { name, labels: { 'kubernetes.io/metadata.name': name } } })
    store.create('api/v1/configmaps', { metadata: { name: 'chaperone-emergency', namespace: name } })
  }
  for (let n = 0; n < size.gateways; n += 1)
    store.create(GATEWAYS, {
      ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Gateway', spec: GatewaySpec.parse({}) },
      metadata: { name: n === 0 ? MAIN : `g${n}`, namespace: NAMESPACE },
    })
  for (let n = 0; n < size.pods; n += 1) store.create(PODS, pod(n, size, true))
}

function pod(n: number, { gateways }: Size, ready: boolean) {
  const gateway = `${NAMESPACE}/${n % gateways === 0 ? MAIN : `g${n % gateways}`}`
  return {
    metadata: {
      ...{ name: `p${n}`, namespace: NAMESPACE, labels: { 'chaperone.dev/inject': 'injected' } },
      annotations: {
        'chaperone.dev/agent': `p${n}`,
        'chaperone.dev/injected': JSON.stringify({ gateway, agent: `p${n}` }),
      },
    },
    status: { phase: 'Running', initContainerStatuses: [{ name: 'chaperone-proxy', ready }] },
  }
}

async function startOperator(
  folder: string,
  { api, controlPlane }: { readonly api: string; readonly controlPlane: string },
): Promise<Served> {
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text)
    return join(folder, name)
  }
  return serve(OPERATOR, {
    ...{ POD_NAMESPACE: SYSTEM, POD_NAME: 'one', KUBECONFIG: file('kubeconfig', fakeKubeconfig(api)) },
    ...{ CONTROL_PLANE_URL: controlPlane, OPERATOR_TOKEN_FILE: file('token', 'operator-token-of-the-bench') },
    ...{
      HEALTH_HOST: '127.0.0.1',
      HEALTH_PORT: '0',
      LOG_LEVEL: 'error',
      SIDECAR_IMAGE: 'example/chaperone:1',
    },
    ...{ WEBHOOK_HOST: '127.0.0.1', WEBHOOK_PORT: '0', WEBHOOK_ADDRESS: '127.0.0.1' },
  })
}
