import { cpuUs, rssMib } from '../../support/processes.ts'
import type { Bench } from '../main.ts'
import { subjectsInTurn } from '../support/each.ts'
import { closedLoop } from '../support/load.ts'
import { median } from '../support/measure.ts'
import { whilePaused } from '../support/pause.ts'
import { absolute, compare, type Row } from '../support/report.ts'
import type { Subject } from '../support/subjects.ts'

/** Final goals; the first milestone is 0.6 http-mitm-proxy, 0.8 @fastify/http-proxy, 0.25 mockttp, 1/15 mitmdump. */
const GOALS = {
  '@fastify/http-proxy': 1 / 1.6,
  'http-mitm-proxy': 1 / 2.5,
  mockttp: 1 / 5,
  mitmdump: 1 / 30,
  haproxy: 2.5,
}

/** Fewer requests for those that take milliseconds for each; JavaScript among them is still warm after these. */
const SLOW: Readonly<Record<string, number>> = { mitmdump: 800, mockttp: 3_000 }

/** Of these the median counts, for every subject. */
const ROUNDS = 8

/** 32 keep-alive tunnels in closed loop, POST 4 KiB -> 1 KiB, TLS on both sides, 1,000 permissions, one record each. */
export const requests: Bench = async (context) => {
  const sizeOf = ({ name }: Subject) => (context.isQuick ? 0.25 : 1) * (SLOW[name] ?? 6_000)
  const rounds = new Map<string, number[]>()
  const now = new Map<string, number>()
  const peak = new Map<string, number>()
  let pairs: Pairs = { running: [], paused: [] }
  await subjectsInTurn(context, {
    rounds: ROUNDS,
    // Ours has its code compiled after some 18,000 requests, and nobody is hurt by as many.
    warmUp: (subject) => closedLoop(subject.target, 32, sizeOf(subject) * 3),
    async measure(subject) {
      const us = await perRequest(subject, sizeOf(subject))
      rounds.set(subject.name, [...(rounds.get(subject.name) ?? []), us])
    },
    async last(subject) {
      const rss = rssMib(subject.pid)
      now.set(subject.name, rss.now)
      peak.set(subject.name, rss.peak)
      if (subject.behind !== undefined) pairs = await pausedInTurn(subject, subject.behind, sizeOf(subject))
    },
  })
  const cpu = new Map([...rounds].map(([name, values]) => [name, median(values)]))
  return [
    ...compare('B1', 'CPU us/request', cpu, GOALS),
    pausedRow(pairs),
    ...compare('B1', 'RSS peak MiB', peak),
    ...compare('B1', 'RSS MiB behind the last round', now),
    absolute('B1', 'RSS peak MiB loaded', peak.get('chaperone') ?? Number.NaN, 120),
    absolute('B1', 'RSS MiB loaded', now.get('chaperone') ?? Number.NaN, 120),
  ]
}

type Pairs = { readonly running: number[]; readonly paused: number[] }

/** Ours with and without the processes that take its records, in turns like everything else. */
async function pausedInTurn(subject: Subject, behind: readonly number[], size: number): Promise<Pairs> {
  const pairs: Pairs = { running: [], paused: [] }
  for (let round = 0; round < ROUNDS / 2; round += 1) {
    pairs.paused.push(await whilePaused(behind, () => perRequest(subject, size)))
    pairs.running.push(await perRequest(subject, size))
  }
  return pairs
}

function pausedRow({ paused, running }: Pairs): Row {
  const figure = 'the same, control plane and PostgreSQL paused'
  return { bench: 'B1', figure, ours: median(paused), peer: 'running', theirs: median(running), goal: null }
}

async function perRequest({ pid, target }: Subject, size: number): Promise<number> {
  const before = cpuUs(pid)
  await closedLoop(target, 32, size)
  return (cpuUs(pid) - before) / size
}
