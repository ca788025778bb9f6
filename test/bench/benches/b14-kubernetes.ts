import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { run } from '../../cluster/kubectl.ts'
import { kubeTools } from '../../cluster/tools/kube-tools.ts'
import { type Cluster, openCluster } from '../../operator/kube/cluster.ts'
import { eventually } from '../../support/eventually.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { type Served, serve } from '../../support/processes.ts'
import type { Bench } from '../main.ts'
import { reviewTimes } from '../support/admission-reviews.ts'
import { type DurableBed, startDurableBed, startPlane, stopAll } from '../support/durable-bed.ts'
import { receivedBy, startGatewayStreams } from '../support/gateway-listeners.ts'
import { quantile } from '../support/load.ts'
import { untilQuiet } from '../support/measure.ts'
import { absolute, type Row } from '../support/report.ts'

const OPERATOR = new URL('../../../operator/main.ts', import.meta.url).pathname
const SYSTEM = 'chaperone-system'
const TOKEN = 'operator-token-of-the-bench'

/**
 * Measures a real kube-apiserver with two operators and a control plane: the time from the start of `kubectl patch`
 * until each of 1,000 gateway streams receives the kill switch for everything, and the time that the API server
 * waits for the webhook.
 */
export const kubernetes: Bench = async (context) => {
  const tools = await kubeTools()
  if (kubeAssets() === null || tools === null) {
    console.error(`bench: B14 left out: ${tools === null ? 'no kubectl' : KUBE_ASSETS_HINT}`)
    return []
  }
  await using server = await startKubeApiServer({ args: ['--disable-admission-plugins=ServiceAccount'] })
  using cluster = openCluster(server)
  await cluster.installCrds()
  for (const namespace of [SYSTEM, 'team']) await cluster.namespace(namespace)
  await cluster.create('Gateway', 'default', 'local', {})
  await cluster.create('Gateway', 'team', 'main', {})
  await using bed = await startDurableBed(join(context.bed.folder, 'b14'))
  return await measured({ isQuick: context.isQuick, server, cluster, bed, kubectl: tools.kubectl })
}

type World = {
  readonly isQuick: boolean
  readonly server: KubeApiServer
  readonly cluster: Cluster
  readonly kubectl: string
  readonly bed: DurableBed
}

async function measured(world: World): Promise<Row[]> {
  const { bed, isQuick, cluster } = world
  const tokenFile = join(bed.folder, 'operator.token')
  writeFileSync(tokenFile, TOKEN)
  const plane = await startPlane(bed, bed.postgres.url, { OPERATOR_TOKEN_FILE: tokenFile })
  const running = [plane]
  try {
    for (const name of ['one', 'two']) running.push(await startOperator(world, { plane, tokenFile, name }))
    const listeners = await startGatewayStreams(bed, plane, 1_000)
    running.push(listeners)
    const killSwitches = await killSwitchRows(world, { plane, listeners, times: isQuick ? 5 : 50 })
    const reviews = await webhook(cluster, isQuick ? 200 : 4_000)
    return [...killSwitches, ...reviews]
  } finally {
    await stopAll(running.reverse())
  }
}

type Start = { readonly plane: Served; readonly tokenFile: string; readonly name: string }

async function startOperator({ server }: Pick<World, 'server'>, given: Start): Promise<Served> {
  return serve(OPERATOR, {
    ...{ POD_NAMESPACE: SYSTEM, POD_NAME: given.name, KUBECONFIG: server.kubeconfigPath },
    ...{ CONTROL_PLANE_URL: `http://127.0.0.1:${given.plane.port}`, OPERATOR_TOKEN_FILE: given.tokenFile },
    ...{
      HEALTH_HOST: '127.0.0.1',
      HEALTH_PORT: '0',
      LOG_LEVEL: 'error',
      SIDECAR_IMAGE: 'example/chaperone:1',
      SIDECAR_DNS_RESOLVERS: '10.96.0.10',
    },
    ...{ WEBHOOK_HOST: '127.0.0.1', WEBHOOK_PORT: '0', WEBHOOK_ADDRESS: '127.0.0.1' },
  })
}

type Installation = { readonly plane: Served; readonly listeners: Served; readonly times: number }

async function killSwitchRows(world: World, { plane, listeners, times }: Installation): Promise<Row[]> {
  const each: number[] = []
  const last: number[] = []
  const patches: number[] = []
  const behind: number[] = []
  for (let n = 0; n < times; n += 1) {
    const { delays, patchMs } = await switched(world, listeners, true)
    each.push(...delays)
    last.push(Math.max(...delays))
    patches.push(patchMs)
    behind.push(Math.max(...delays) - patchMs)
    await switched(world, listeners, false)
    // Acknowledgements of the last change are no part of the next.
    await untilQuiet(plane.pid)
  }
  const p99 = (values: readonly number[]) => quantile(sorted(values), 0.99)
  const half = (values: readonly number[]) => quantile(sorted(values), 0.5)
  return [
    absolute('B14', 'kubectl patch to refusal, 1,000 streams, each: p50 ms', half(each), null),
    absolute('B14', `the same: p99 ms of ${times} kill switches`, p99(each), 500),
    absolute('B14', 'the last of 1,000: p99 ms', p99(last), 500),
    absolute('B14', 'of these kubectl itself, until it ended: p50 ms', half(patches), null),
    absolute('B14', 'kubectl itself: p99 ms', p99(patches), null),
    absolute('B14', 'the last of 1,000 after kubectl had ended: p99 ms', p99(behind), null),
  ]
}

/** Milliseconds from the start of kubectl to each stream's line. */
async function switched({ server, kubectl }: World, listeners: Served, active: boolean) {
  const received = receivedBy(listeners, active)
  // The expectation has to be there before the news.
  await sleep(20)
  const killSwitch = { active, ...(active && { reason: 'bench' }) }
  const place = ['--kubeconfig', server.kubeconfigPath, '-n', 'default']
  const patch = ['patch', 'gateways.chaperone.dev', 'local', '--type=merge', '-p']
  const startedAt = process.hrtime.bigint()
  const since = (moment: bigint) => Number(moment - startedAt) / 1e6
  const { code, stderr } = await run(
    kubectl,
    [...place, ...patch, JSON.stringify({ spec: { killSwitch } })],
    '',
  )
  const patchMs = since(process.hrtime.bigint())
  if (code !== 0) throw new Error(`kubectl patch: ${stderr}`)
  const late = AbortSignal.timeout(30_000)
  const lost = new Promise<never>((_, reject) => {
    late.onabort = () => reject(new Error('not every stream received the kill switch within 30 s'))
  })
  return { delays: (await Promise.race([received, lost])).map(since), patchMs }
}

async function webhook({ client }: Cluster, count: number): Promise<Row[]> {
  // The address of the last operator that started is the one in force.
  await eventually('the webhook answers', () =>
    reviewTimes(client, { count: 20, lanes: 1 }).then(
      () => true,
      () => null,
    ),
  )
  const alone = await reviewTimes(client, { count, lanes: 1 })
  const crowd = await reviewTimes(client, { count, lanes: 16 })
  return [
    absolute('B14', 'webhook, one pod after the other: p50 ms', quantile(alone, 0.5), null),
    absolute('B14', `the same: p99 ms of ${count}`, quantile(alone, 0.99), 50),
    absolute('B14', 'webhook, 16 pods at a time: p99 ms', quantile(crowd, 0.99), 50),
  ]
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}
