import { cpuUs, rssMib } from '../../support/processes.ts'
import type { Bench } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { closedLoop } from '../support/load.ts'
import { whilePaused } from '../support/pause.ts'
import { absolute, compare } from '../support/report.ts'
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
const SLOW: Readonly<Record<string, number>> = { mitmdump: 800, mockttp: 4_000 }

/** The best of them counts, for every subject: what else runs on the machine only ever adds. */
const ROUNDS = 3

/** 32 keep-alive tunnels in closed loop, POST 4 KiB -> 1 KiB, TLS on both sides, 1,000 permissions, one record each. */
export const requests: Bench = async (context) => {
  const cpu = new Map<string, number>()
  const rss = new Map<string, number>()
  let alone = Number.NaN
  await eachSubject(context, async (subject) => {
    const size = (context.isQuick ? 0.25 : 1) * (SLOW[subject.name] ?? 12_000)
    await closedLoop(subject.target, 32, size)
    let best = Number.POSITIVE_INFINITY
    for (let round = 0; round < ROUNDS; round += 1) best = Math.min(best, await perRequest(subject, size))
    cpu.set(subject.name, best)
    if (subject.behind !== undefined)
      alone = await whilePaused(subject.behind, () => perRequest(subject, size))
    rss.set(subject.name, rssMib(subject.pid).peak)
  })
  return [
    ...compare('B1', 'CPU us/request', cpu, GOALS),
    {
      bench: 'B1',
      figure: 'the same, control plane and PostgreSQL paused',
      ours: alone,
      peer: 'running',
      theirs: cpu.get('chaperone') ?? null,
      goal: null,
    },
    ...compare('B1', 'RSS peak MiB', rss),
    absolute('B1', 'RSS peak MiB loaded', rss.get('chaperone') ?? Number.NaN, 120),
  ]
}

async function perRequest({ pid, target }: Subject, size: number): Promise<number> {
  const before = cpuUs(pid)
  await closedLoop(target, 32, size)
  return (cpuUs(pid) - before) / size
}
