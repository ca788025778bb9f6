import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { rssMib } from '../../support/processes.ts'
import type { Bench, BenchContext } from '../main.ts'
import { canPin, OtherProcesses, pinAllToOtherCores, pinToSubjectCore } from '../support/cores.ts'
import { subjectsInTurn } from '../support/each.ts'
import { compileGoPrograms, type GoLoad, runGoLoad, startGoUpstream } from '../support/go-programs.ts'
import { CHAT_REQUEST } from '../support/load.ts'
import { median, treeCpuUs } from '../support/measure.ts'
import { absolute, compare, type Row } from '../support/report.ts'
import type { Subject } from '../support/subject.ts'

const GOALS = {
  haproxy: 2.5,
  'bare Node forwarder': 1.45,
  'Envoy + ext_authz': 0.4,
  '@fastify/http-proxy': 0.5,
  'http-mitm-proxy': 0.4,
  mockttp: 0.17,
  mitmdump: 1 / 25,
}

/** Fewer requests for those that take milliseconds for each; JavaScript among them is still warm after these. */
const SLOW: Readonly<Record<string, number>> = { mitmdump: 800, mockttp: 3_000 }

/** Of these the median counts, for every subject. */
const ROUNDS = 8
const TUNNELS = 32

/** Measurements of a subject, one for each round. */
type Found = {
  readonly cpuUs: number[]
  /** Share of its core that the subject used, from 0 to 1. */
  readonly share: number[]
  /** CPU time of control plane and PostgreSQL for each record, in microseconds. */
  readonly behindUs: number[]
  readonly otherCores: number[]
}

/**
 * Measures 32 keep-alive tunnels in closed loop: POST 4 KiB -> 1 KiB, TLS on both sides, 1,000 permissions, one
 * record each. The subject has one core for itself. The load, the upstream, and the processes that serve the
 * subject run on the other cores.
 */
export const requests: Bench = async (context) => {
  const program = compileGoPrograms(context.bed.folder)
  if (program === null)
    throw new Error('B1 needs Go for its load and its upstream: apt-get install golang-go')
  if (canPin()) pinAllToOtherCores()
  else
    console.error('bench:   processes cannot be bound to cores here, so load and subject share all of them')
  const upstream = await startGoUpstream(program, context.bed)
  try {
    const bed = { ...context.bed, upstream, upstreamPort: upstream.port }
    const requestFile = join(bed.folder, 'request')
    writeFileSync(requestFile, CHAT_REQUEST)
    return await measured({ ...context, bed }, { program, requestFile, tunnels: TUNNELS })
  } finally {
    await upstream.stop()
  }
}

async function measured(context: BenchContext, load: Omit<GoLoad, 'requests'>): Promise<readonly Row[]> {
  const sizeOf = ({ name }: Subject) => (context.isQuick ? 0.25 : 1) * (SLOW[name] ?? 12_000)
  const found = new Map<string, Found>()
  const now = new Map<string, number>()
  const peak = new Map<string, number>()
  const others = new OtherProcesses()
  await subjectsInTurn(context, {
    rounds: context.isQuick ? 3 : ROUNDS,
    async warmUp(subject) {
      if (canPin()) pinToSubjectCore([subject.pid, ...(subject.beside ?? [])])
      await runGoLoad(subject.target, { ...load, requests: sizeOf(subject) * 2 })
    },
    async measure(subject) {
      const round = foundOf(found, subject.name)
      await measureRound(subject, { ...load, requests: sizeOf(subject) }, { round, others })
    },
    async last(subject) {
      const rss = rssMib(subject.pid)
      now.set(subject.name, rss.now)
      peak.set(subject.name, rss.peak)
    },
  })
  const medians = (of: keyof Found) => new Map([...found].map(([name, each]) => [name, median(each[of])]))
  return [
    ...compare('B1', 'CPU us/request', medians('cpuUs'), GOALS),
    ...compare('B1', 'share of its core that the subject used', medians('share')),
    absolute(
      'B1',
      'control plane and PostgreSQL: CPU us/record',
      medians('behindUs').get('chaperone') ?? Number.NaN,
      20,
    ),
    absolute(
      'B1',
      'cores that others took, noisy above',
      median([...found.values()].flatMap(({ otherCores }) => otherCores)),
      0.25,
    ),
    ...compare('B1', 'RSS peak MiB', peak),
    ...compare('B1', 'RSS MiB behind the last round', now),
    absolute('B1', 'RSS peak MiB loaded', peak.get('chaperone') ?? Number.NaN, 100),
  ]
}

function foundOf(found: Map<string, Found>, name: string): Found {
  const known = found.get(name) ?? { cpuUs: [], share: [], behindUs: [], otherCores: [] }
  found.set(name, known)
  return known
}

type Round = { readonly round: Found; readonly others: OtherProcesses }

async function measureRound(subject: Subject, load: GoLoad, { round, others }: Round): Promise<void> {
  const proxy = [subject.pid, ...(subject.beside ?? [])]
  const behind = subject.behind ?? []
  await untilIdle(behind)
  others.cores()
  const [before, behindBefore, startedAt] = [cpuOf(proxy), cpuOf(behind), process.hrtime.bigint()]
  await runGoLoad(subject.target, load)
  const elapsedUs = Number(process.hrtime.bigint() - startedAt) / 1_000
  const us = cpuOf(proxy) - before
  round.otherCores.push(others.cores())
  await untilIdle(behind)
  round.cpuUs.push(us / load.requests)
  round.share.push(us / elapsedUs)
  round.behindUs.push((cpuOf(behind) - behindBefore) / load.requests)
}

function cpuOf(pids: readonly number[]): number {
  return pids.reduce((sum, pid) => sum + treeCpuUs(pid), 0)
}

/**
 * Resolves when the processes are idle. Records are uploaded after their requests, so the work goes on after the
 * last response.
 */
async function untilIdle(pids: readonly number[]): Promise<void> {
  for (let before = cpuOf(pids); ; ) {
    await sleep(200)
    const now = cpuOf(pids)
    if (now - before < 20_000) return
    before = now
  }
}
