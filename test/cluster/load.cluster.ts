import { freemem } from 'node:os'
import { afterAll, afterEach, beforeAll, expect, inject, test } from 'vitest'
import { eventually } from '../support/eventually.ts'
import {
  agentPod,
  inForce,
  leftFor,
  podTemplate,
  startVendor,
  VENDOR,
  type Vendor,
  WATCHER,
} from './agents.ts'
import { type ControlPlane, openControlPlane } from './control-plane.ts'
import { type GatewayProcesses, startGatewayProcesses } from './gateway-processes.ts'
import { AGENTS, install } from './installation.ts'
import { apply, kube } from './kubectl.ts'
import { SIZES } from './sizes.ts'

const GATEWAY = 'load'
const { stoppedAgents: SIDECARS, stoppedProcesses: PROCESSES, stops: ROUNDS } = SIZES
const { starts: STARTS, startsAtATime: AT_A_TIME } = SIZES
let vendor: Vendor

beforeAll(async () => {
  await install(inject('installation'))
  vendor = await startVendor(GATEWAY, {
    rateLimit: { requestsPerMinute: 100_000 },
    // With the requests of the operator's default a node with two cores admits 68 of them.
    sidecar: { resources: { requests: { cpu: '5m' } } },
  })
})
// What one test leaves behind would be the load of the next.
afterEach(async () => {
  await setKillSwitch(false)
  await kube(['delete', 'pods,jobs', '-n', AGENTS, '-l', 'load=yes', '--ignore-not-found', '--timeout=120s'])
}, 130_000)
afterAll(async () => {
  await vendor?.[Symbol.asyncDispose]()
})

const title = `kubectl patch stops ${SIDECARS} agents`
test(`${title}; the kill switch of the installation also stops ${PROCESSES} processes beside them`, {
  timeout: 1_500_000,
}, async () => {
  await startWatchers()
  await using plane = await openControlPlane()
  await using beside = await startGatewayProcesses(plane, PROCESSES)
  printMemory(beside.memoryMib())
  const rounds: number[][] = []
  const besideSince = Date.now()
  for (let round = 0; round < ROUNDS; round++) {
    const { patchMs, delays } = await stopByPatch()
    console.log(`from kubectl patch, which took ${patchMs}, to the first refusal, ms: ${delays.join(' ')}`)
    rounds.push(delays)
  }
  const all = rounds.flat().sort((a, b) => a - b)
  console.log(`of ${all.length}: median ${all[all.length >> 1]} ms, the last ${all.at(-1)} ms`)
  // Their gateway is another one.
  expect(beside.changesSince(besideSince)).toBe(0)
  await stopEverything(plane, beside)
})

/** Starts the agents that call all the time. Resolves when each is answered 200. */
async function startWatchers(): Promise<void> {
  const names = Array.from({ length: SIDECARS }, (_, at) => `watcher-${at}`)
  const pods = names.map((name) => {
    const pod = agentPod(name, GATEWAY, { command: ['node', '-e', WATCHER, String(SIZES.callEveryMs)] })
    return { ...pod, metadata: { ...pod.metadata, labels: { load: 'yes' } } }
  })
  const startedAt = Date.now()
  for (let at = 0; at < SIDECARS; at += AT_A_TIME) {
    await apply(...pods.slice(at, at + AT_A_TIME))
    const started = pods.slice(at, at + AT_A_TIME).map(({ metadata }) => `pod/${metadata.name}`)
    await kube(['wait', '-n', AGENTS, '--for=condition=Ready', '--timeout=300s', ...started])
  }
  console.log(`${SIDECARS} pods are Ready after ${Math.round((Date.now() - startedAt) / 1_000)} s`)
  await inForce(GATEWAY)
  await eventually(
    'all agents are served',
    async () => ((await since(0, '200')) === null ? null : true),
    60_000,
  )
}

function printMemory(mib: readonly number[]): void {
  const sorted = [...mib].sort((a, b) => a - b)
  const free = Math.round(freemem() / 2 ** 30)
  console.log(
    `resident memory of ${mib.length} processes, MiB: ${sorted[0]} to ${sorted.at(-1)}; free of this machine, GiB: ${free}`,
  )
}

/** Sets the kill switch of the Gateway until all its agents are refused, and lifts it until all are served again. */
async function stopByPatch() {
  const startedAt = Date.now()
  await setKillSwitch(true)
  const patchMs = Date.now() - startedAt
  // One `kubectl wait`, because polling would take the cores that the kill switch needs. The operator writes the counts at
  // most every 10 s.
  const confirmed = `--for=jsonpath={.status.gateways.killed}=${SIDECARS}`
  await kube(['wait', 'cgw', GATEWAY, '-n', AGENTS, '--for=condition=KillSwitchActive', '--timeout=60s'])
  await kube(['wait', 'cgw', GATEWAY, '-n', AGENTS, confirmed, '--timeout=60s'])
  const stopped = await eventually('all agents are refused', () => since(startedAt, '403'))
  const liftedAt = Date.now()
  await setKillSwitch(false)
  await eventually('all agents are served again', () => since(liftedAt, '200'))
  return { patchMs, delays: stopped.map((at) => at - startedAt).sort((a, b) => a - b) }
}

/** Sets the kill switch of the installation through the API: pods and processes acknowledge and refuse. */
async function stopEverything(plane: ControlPlane, beside: GatewayProcesses): Promise<void> {
  const path = '/api/dashboard/kill-switch'
  type Reply = {
    readonly acknowledged: { readonly acked: number; readonly total: number; readonly ms: number }
  }
  const startedAt = Date.now()
  const { acknowledged } = await plane.call<Reply>('POST', path, { active: true, reason: 'drill' })
  const inPods = await eventually('all pods refuse', () => since(startedAt, '403'))
  const outside = await eventually('all processes refuse', () => beside.since(startedAt, 403))
  const delays = [...inPods, ...outside].map((at) => at - startedAt).sort((a, b) => a - b)
  console.log(
    `kill switch of the installation: ${acknowledged.acked} of ${acknowledged.total} acknowledged in ${acknowledged.ms} ms; to the first refusal, ms: median ${delays[delays.length >> 1]}, the last ${delays.at(-1)}`,
  )
  const liftedAt = Date.now()
  await plane.call('POST', path, { active: false })
  await eventually('all pods serve again', () => since(liftedAt, '200'))
  await eventually('all processes serve again', () => beside.since(liftedAt, 200))
  expect(acknowledged.acked).toBe(acknowledged.total)
  expect(acknowledged.total).toBeGreaterThanOrEqual(SIDECARS + PROCESSES)
}

async function setKillSwitch(active: boolean): Promise<void> {
  const patch = { spec: { killSwitch: { active, ...(active && { reason: 'drill' }) } } }
  await kube(['patch', 'cgw', GATEWAY, '-n', AGENTS, '--type=merge', '-p', JSON.stringify(patch)])
}

/** When each watcher was first answered so behind that moment; null until all have been. */
async function since(startMs: number, status: string): Promise<readonly number[] | null> {
  const args = ['logs', '-n', AGENTS, '-l', 'load=yes', '-c', 'agent', '--prefix', '--tail=-1']
  const printed = await kube([...args, `--max-log-requests=${SIDECARS}`])
  const firstOf = new Map<string, number>()
  for (const line of printed.trim().split('\n')) {
    const [pod = '', at, answered] = line.split(' ')
    if (answered === status && Number(at) >= startMs && !firstOf.has(pod)) firstOf.set(pod, Number(at))
  }
  return firstOf.size === SIDECARS ? [...firstOf.values()] : null
}

/** Sends at once, to the vendor and to where nobody may; then says what it was answered. */
const HASTY = `
const net = require('node:net')
const out = net.connect(443, '198.51.100.20').on('error', () => undefined).on('connect', () => out.write('x'))
require('node:dgram').createSocket('udp4').on('error', () => undefined).send('x', 443, '198.51.100.21')
fetch('https://${VENDOR}/start').then(async (r) => {
  const body = await r.text()
  console.log(r.status === 200 || r.status === 503 ? r.status : r.status + ' ' + body)
  process.exit(0)
}, (e) => { console.log(e.cause?.code ?? e.message); process.exit(1) })`

test(`${STARTS} agents that send with their first instruction are all answered, and nothing leaks`, async () => {
  const template = podTemplate(GATEWAY, { command: ['node', '-e', HASTY], spec: { restartPolicy: 'Never' } })
  const labelled = { ...template, metadata: { ...template.metadata, labels: { load: 'yes', app: 'starts' } } }
  const before = vendor.recorder.seen.filter(({ target }) => target === '/start').length
  // A name that no pod of another Gateway bears: an agent is where it was seen last.
  await apply({
    ...{ apiVersion: 'batch/v1', kind: 'Job' },
    metadata: { name: 'starts', namespace: AGENTS, labels: { load: 'yes' } },
    spec: { completions: STARTS, parallelism: AT_A_TIME, backoffLimit: 0, template: labelled },
  })
  await allSucceed('starts')
  // Where a node is so slow that a sidecar has no rules after 30 s its agent starts all the same, and is answered 503.
  const { '200': served = 0, '503': early = 0, ...others } = await answersOf('app=starts')
  console.log(`answered 200: ${served}, 503 because there were no rules yet: ${early}`)
  expect(others).toEqual({})
  expect(served + early).toBe(STARTS)
  expect(served).toBeGreaterThan(0)
  expect(vendor.recorder.seen.filter(({ target }) => target === '/start').length - before).toBe(served)
  const left = await leftFor(['198.51.100.20', '198.51.100.21'])
  if (left !== null) expect(left).toEqual([])
}, 1_500_000)

/** However slow the node is: it has come to a stop when nothing has ended for so long. */
const STANDSTILL_MS = 120_000

/** Waits for all pods of a Job as long as they go on ending well; throws at the first that does not. */
async function allSucceed(job: string): Promise<void> {
  const startedAt = Date.now()
  for (let ended = 0; ended < STARTS; ) {
    ended = await eventually(
      `one more than ${ended} of ${STARTS} has ended`,
      async () => {
        const path = 'jsonpath={.status.succeeded}/{.status.failed}'
        const [good = '', bad = ''] = (await kube(['get', 'job', job, '-n', AGENTS, '-o', path])).split('/')
        if (bad !== '') throw new Error(`${bad} were not answered 200, after ${good} that were`)
        return Number(good) > ended ? Number(good) : null
      },
      STANDSTILL_MS,
    )
  }
  console.log(`${STARTS} agents, ${AT_A_TIME} at a time: ${Math.round((Date.now() - startedAt) / 1_000)} s`)
}

/** How often the agents were answered what. */
async function answersOf(selector: string): Promise<Readonly<Record<string, number>>> {
  const all = ['-l', selector, '-c', 'agent', '--tail=1', `--max-log-requests=${STARTS}`]
  const lines = (await kube(['logs', '-n', AGENTS, ...all])).trim().split('\n')
  const counts: Record<string, number> = {}
  for (const line of lines) counts[line] = (counts[line] ?? 0) + 1
  return counts
}
