import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { TLSSocket } from 'node:tls'
import { testAgent } from '../../support/agent.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import type { Served } from '../../support/processes.ts'
import { openTunnel, type Target } from '../../support/tunnel.ts'
import type { Bench, BenchContext } from '../main.ts'
import { benchManifests } from '../support/chaperone-subject.ts'
import { startDurableBed, startPlane, stopAll } from '../support/durable-bed.ts'
import { receivedBy, startGatewayStreams } from '../support/gateway-listeners.ts'
import { createRequester, quantile } from '../support/load.ts'
import { untilQuiet } from '../support/measure.ts'
import { openPlainClient, type PlainClient, postRequest } from '../support/plain-http.ts'
import { absolute, type Row } from '../support/report.ts'

/**
 * Measures the time from the request that sends a kill switch or a permission to the control plane until the change
 * applies everywhere: until N gateway processes that only listen have received it, and until a real gateway under
 * load refuses the first request.
 */
export const killSwitches: Bench = async (context) => [
  ...(await streams(context, { count: 100, activations: context.isQuick ? 20 : 100, goalMs: 30 })),
  ...(await streams(context, { count: 1_000, activations: context.isQuick ? 5 : 100, goalMs: 80 })),
  ...(await realGateway(context)),
]

type Size = { readonly count: number; readonly activations: number; readonly goalMs: number }

async function streams(
  { bed: { folder } }: BenchContext,
  { count, activations, goalMs }: Size,
): Promise<Row[]> {
  await using bed = await startDurableBed(join(folder, `b11-${count}`))
  const plane = await startPlane(bed, bed.postgres.url)
  const listeners = await startGatewayStreams(bed, plane, count)
  const admin = readFileSync(join(bed.folder, 'admin.token'), 'utf8').trim()
  const client = await openPlainClient(plane.port)
  const each: number[] = []
  const last: number[] = []
  try {
    for (let n = 0; n < activations; n += 1) {
      const delays = await switched({ client, admin, listeners }, true)
      each.push(...delays)
      last.push(Math.max(...delays))
      await switched({ client, admin, listeners }, false)
      // Acknowledgements of the last change are no part of the next.
      await untilQuiet(plane.pid)
    }
  } finally {
    client.close()
    await stopAll([listeners, plane])
  }
  return [
    absolute('B11', `kill switch received by ${count} gateways, each: p99 ms`, p99(each), goalMs),
    absolute('B11', `the last of ${count}: p50 ms`, quantile(sorted(last), 0.5), null),
    absolute('B11', `the last of ${count}: p99 ms of ${activations} kill switches`, p99(last), goalMs),
  ]
}

type Installation = { readonly client: PlainClient; readonly admin: string; readonly listeners: Served }

/** Milliseconds from sending the request to each stream's line. */
async function switched({ client, admin, listeners }: Installation, active: boolean): Promise<number[]> {
  const received = receivedBy(listeners, active)
  // The listener must expect the message before it is sent.
  await sleep(20)
  const startedAt = process.hrtime.bigint()
  const answered = client.send(postRequest('/api/dashboard/kill-switch', { active, reason: 'bench' }, admin))
  const at = await received
  const { status, body } = await answered
  if (status !== 200) throw new Error(`the kill switch answered ${status}: ${body}`)
  return at.map((moment) => Number(moment - startedAt) / 1e6)
}

async function realGateway(context: BenchContext): Promise<Row[]> {
  const laptop = await startLaptop({ manifests: { 'bench.yaml': benchManifests(context.bed, ['llm_a.*']) } })
  try {
    const kills = context.isQuick ? 20 : 100
    const changes = context.isQuick ? 10 : 100
    const byKill = sorted(await firstRefusals(laptop, kills, killSwitch(laptop)))
    const byPermission = sorted(await firstRefusals(laptop, changes, permission(laptop)))
    return [
      absolute('B11', 'real gateway, kill switch to first refusal: p50 ms', quantile(byKill, 0.5), null),
      absolute('B11', `the same: p99 ms of ${kills} kill switches`, quantile(byKill, 0.99), 30),
      absolute('B11', 'real gateway, permission to first refusal: p50 ms', quantile(byPermission, 0.5), null),
      absolute('B11', `the same: p99 ms of ${changes} changes`, quantile(byPermission, 0.99), 30),
    ]
  } finally {
    await laptop.stop()
  }
}

type Switch = (isActive: boolean) => Promise<void>

function killSwitch(laptop: Laptop): Switch {
  return (active) => called(laptop, '/api/dashboard/kill-switch', { active, reason: 'bench' })
}

function permission(laptop: Laptop): Switch {
  return (isActive) =>
    called(laptop, '/api/dashboard/permissions', {
      gateway_name: 'local',
      connector_type: 'llm_a',
      action_pattern: 'llm_a.chat.create',
      decision: isActive ? 'deny' : 'allow',
    })
}

async function called(laptop: Laptop, path: string, body: unknown): Promise<void> {
  const answer = await laptop.api('POST', path, body)
  if (answer.status !== 200)
    throw new Error(`${path} answered ${answer.status}: ${JSON.stringify(answer.body)}`)
}

async function firstRefusals(laptop: Laptop, count: number, set: Switch): Promise<number[]> {
  const { target } = testAgent(laptop)
  const delays: number[] = []
  for (let n = 0; n < count; n += 1) {
    const refused = untilRefused(target)
    await refused.passing
    const startedAt = performance.now()
    const done = set(true)
    delays.push((await refused.at) - startedAt)
    await done
    await set(false)
    await untilPassing(target)
  }
  return delays
}

/** One request after the other on one tunnel, until one is not let through. */
function untilRefused(target: Target): { readonly passing: Promise<void>; readonly at: Promise<number> } {
  const passing = Promise.withResolvers<void>()
  const run = async (): Promise<number> => {
    const socket = await openTunnel(target, 'api.openai.com')
    const request = createRequester(socket)
    await request()
    passing.resolve()
    while (await isLetThrough(request));
    const at = performance.now()
    socket.destroy()
    return at
  }
  const at = run()
  at.catch(passing.reject)
  return { passing: passing.promise, at }
}

async function untilPassing(target: Target): Promise<void> {
  for (let attempt = 0; attempt < 500; attempt += 1) {
    const socket: TLSSocket | null = await openTunnel(target, 'api.openai.com').catch(() => null)
    const isOpen = socket !== null && (await isLetThrough(createRequester(socket)))
    socket?.destroy()
    if (isOpen) return
    await sleep(5)
  }
  throw new Error('nothing passes again after the kill switch was lifted')
}

function isLetThrough(request: () => Promise<number>): Promise<boolean> {
  return request().then(
    () => true,
    () => false,
  )
}

function sorted(values: readonly number[]): number[] {
  return [...values].sort((a, b) => a - b)
}

function p99(values: readonly number[]): number {
  return quantile(sorted(values), 0.99)
}
