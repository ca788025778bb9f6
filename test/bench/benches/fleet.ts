import { readFileSync } from 'node:fs'
import { get } from 'node:http'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { cpuUs, rssMib, type Served } from '../../support/processes.ts'
import {
  type Drivers,
  type FleetSize,
  freePorts,
  STREAMS_PER_GATEWAY,
  startDrivers,
  startReplica,
} from '../fleet/fleet-bed.ts'
import { measureSectionCosts } from '../fleet/section-costs.ts'
import type { Bench } from '../main.ts'
import { type DurableBed, startDurableBed, stopAll } from '../support/durable-bed.ts'
import { quantile } from '../support/load.ts'
import { untilQuiet } from '../support/measure.ts'
import { openPlainClient, postRequest } from '../support/plain-http.ts'
import { absolute, type Row } from '../support/report.ts'

/** Goals in ms for the p99 of a kill switch, by number of streams. */
const KILL_GOALS: ReadonlyArray<readonly [upTo: number, goalMs: number]> = [
  [100, 30],
  [1_000, 80],
  [5_000, 250],
  [10_000, 500],
]

/** Many streams of gateway processes that driver processes hold, against one or two replicas of the control plane. */
export const fleet: Bench = async ({ bed: { folder }, isQuick, fleet: size }) => {
  await using bed = await startDurableBed(join(folder, 'fleet'))
  const ports = await freePorts(size.replicas)
  const replicas: Served[] = []
  for (const port of ports) replicas.push(await startReplica(bed, port))
  const emptyMib = rssOf(replicas)
  const startedAt = process.hrtime.bigint()
  const drivers = await startDrivers(bed, ports, size)
  try {
    const rows: Row[] = sectionCosts(size)
    const world: World = { bed, ports, replicas, drivers, size }
    const cpuBefore = cpuOf(replicas)
    const greetedAt = await drivers.all('greeted', 0n)
    const inForceAt = await drivers.all('inForce', 0n)
    rows.push(
      figure(size, 'first connect, greeting + kill state + beat: s', seconds(startedAt, greetedAt), null),
    )
    rows.push(figure(size, 'first connect, sections in force: s', seconds(startedAt, inForceAt), null))
    rows.push(figure(size, 'the same: control plane CPU s', (cpuOf(replicas) - cpuBefore) / 1e6, null))
    await settled(replicas)
    const perStream = ((rssOf(replicas) - emptyMib) * 1_024) / size.streams
    rows.push(figure(size, 'memory per stream: KiB', perStream, 100))
    rows.push(await atRest(world))
    rows.push(...(await kills(world, isQuick ? 5 : 20)))
    rows.push(...(await change(world)))
    rows.push(...(await restart(world)))
    return rows
  } finally {
    await stopAll([...drivers.served, ...replicas])
  }
}

type World = {
  readonly bed: DurableBed
  readonly ports: readonly number[]
  readonly replicas: Served[]
  readonly drivers: Drivers
  readonly size: FleetSize
}

async function atRest({ replicas, size }: World): Promise<Row> {
  const before = cpuOf(replicas)
  await sleep(20_000)
  const share = (cpuOf(replicas) - before) / 20e6
  return figure(size, 'at rest: % of a core per 1,000 streams', (share * 100 * 1_000) / size.streams, 5)
}

async function kills(world: World, count: number): Promise<Row[]> {
  const { drivers, replicas, size } = world
  const delays: number[] = []
  for (let n = 0; n < count; n += 1) {
    for (const active of [true, false]) {
      const heard = drivers.heard(active)
      const sentAt = process.hrtime.bigint()
      await post(world, '/api/dashboard/kill-switch', { active, reason: 'bench' })
      const at = await heard
      if (active) delays.push(...at.map((moment) => Number(moment - sentAt) / 1e6))
      await settled(replicas)
    }
  }
  delays.sort((a, b) => a - b)
  const goal = KILL_GOALS.find(([upTo]) => size.streams <= upTo)?.[1] ?? null
  return [
    figure(size, 'kill switch heard, each: p50 ms', quantile(delays, 0.5), null),
    figure(size, `the same: p99 ms of ${count} kill switches`, quantile(delays, 0.99), goal),
  ]
}

async function change(world: World): Promise<Row[]> {
  const { drivers, replicas, size } = world
  const concerned = Math.min(size.streams, STREAMS_PER_GATEWAY)
  await settled(replicas)
  const [before, cpuBefore] = [await drivers.counts(), cpuOf(replicas)]
  const sentAt = process.hrtime.bigint()
  await post(world, '/api/dashboard/permissions', {
    ...{
      gateway_name: 'bench-0',
      connector_type: 'llm_a',
      action_pattern: 'llm_a.chat.create',
      decision: 'allow',
    },
  })
  await until(async () => (await drivers.counts()).fetched >= before.fetched + concerned)
  const ms = Number(process.hrtime.bigint() - sentAt) / 1e6
  const cpuMs = (cpuOf(replicas) - cpuBefore) / 1e3
  const bytes = (await drivers.counts()).bytes - before.bytes
  return [
    figure(size, `one permission of a Gateway, fetched by the last of ${concerned}: ms`, ms, null),
    figure(size, 'the same: control plane CPU us per stream', (cpuMs * 1e3) / concerned, null),
    figure(size, 'the same: bytes per stream', bytes / concerned, null),
  ]
}

/** One changed permission of one agent, where each stream is the sidecar of an agent. Measured in this process. */
function sectionCosts(size: FleetSize): Row[] {
  const { cpuMs, longestMs, concerned, bytes } = measureSectionCosts(size.streams, 10_000)
  return [
    figure(size, '10,000 permissions, one of an agent changed, CPU for all sidecars: ms', cpuMs, null),
    figure(size, 'the same: longest slice ms', longestMs, 5),
    figure(size, 'the same: sidecars with a changed section', concerned, 1),
    figure(size, 'the same: bytes of all changed sections', bytes, null),
  ]
}

/** kill -9 of the first replica, which is started again at the same port. */
async function restart(world: World): Promise<Row[]> {
  const { bed, ports, replicas, drivers, size } = world
  const [victim] = replicas
  const [port = 0] = ports
  if (victim === undefined) return []
  const before = await drivers.counts()
  const gone = new Promise((resolve) => victim.child.once('exit', resolve))
  const killedAt = process.hrtime.bigint()
  victim.child.kill('SIGKILL')
  await gone
  const started = await startReplica(bed, port)
  replicas[0] = started
  const servesAt = process.hrtime.bigint()
  const live = watchLiveness(port)
  const greetedAt = await drivers.all('greeted', killedAt)
  const inForceAt = await drivers.all('inForce', killedAt)
  const { worstMs, failures } = live.stop()
  const refused = (await drivers.counts()).refused - before.refused
  return [
    figure(size, 'restart: greeting + kill state + beat of all: s', seconds(servesAt, greetedAt), 25),
    figure(size, 'restart: sections of all in force: s', seconds(servesAt, inForceAt), 60),
    figure(size, 'restart: control plane CPU s', cpuOf([started]) / 1e6, null),
    figure(size, 'restart: control plane peak MiB', rssMib(started.pid).peak, 1_024),
    figure(size, 'restart: refused greetings', refused, null),
    figure(size, 'restart: liveness probe, slowest ms', worstMs, 1_000),
    figure(size, 'restart: liveness probes that failed', failures, null),
  ]
}

/** Calls the liveness route every 200 ms. A call that takes 10 s, the limit of the probe in the chart, has failed. */
function watchLiveness(port: number): { stop(): { readonly worstMs: number; readonly failures: number } } {
  let worstMs = 0
  let failures = 0
  const timer = setInterval(() => {
    const sentAt = performance.now()
    const call = get({ host: '127.0.0.1', port, path: '/livez', timeout: 10_000 }, (response) => {
      response.resume()
      worstMs = Math.max(worstMs, performance.now() - sentAt)
    })
    call.once('timeout', () => call.destroy(new Error('no answer')))
    call.once('error', () => {
      failures += 1
    })
  }, 200)
  return {
    stop() {
      clearInterval(timer)
      return { worstMs, failures }
    },
  }
}

async function post({ bed, ports }: World, path: string, body: object): Promise<void> {
  const admin = readFileSync(join(bed.folder, 'admin.token'), 'utf8').trim()
  const client = await openPlainClient(ports.at(-1) ?? 0)
  const reply = await client.send(postRequest(path, body, admin))
  client.close()
  if (reply.status !== 200) throw new Error(`${path} answered ${reply.status}: ${reply.body}`)
}

async function until(isMet: () => Promise<boolean>): Promise<void> {
  while (!(await isMet())) await sleep(50)
}

/** A fleet is never quiet: its processes report their status. Waits for the peak after a change to be over. */
async function settled(replicas: readonly Served[]): Promise<void> {
  for (const { pid } of replicas) await Promise.race([untilQuiet(pid), sleep(3_000)])
}

function cpuOf(replicas: readonly Served[]): number {
  return replicas.reduce((sum, { pid }) => sum + cpuUs(pid), 0)
}

function rssOf(replicas: readonly Served[]): number {
  return replicas.reduce((sum, { pid }) => sum + rssMib(pid).now, 0)
}

function seconds(from: bigint, to: bigint): number {
  return Number(to - from) / 1e9
}

function figure({ streams, replicas }: FleetSize, what: string, ours: number, goal: number | null): Row {
  return absolute(
    'fleet',
    `${streams} streams, ${replicas} replica${replicas > 1 ? 's' : ''}: ${what}`,
    ours,
    goal,
  )
}
