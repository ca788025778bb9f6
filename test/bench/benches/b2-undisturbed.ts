import { setTimeout as sleep } from 'node:timers/promises'
import { testAgent } from '../../support/agent.ts'
import { type Laptop, startLaptop } from '../../support/laptop.ts'
import type { Target } from '../../support/tunnel.ts'
import type { BenchContext } from '../main.ts'
import { benchManifests } from '../support/chaperone-subject.ts'
import { addRules, applied, changeRule, openLaptopDatabase } from '../support/laptop-database.ts'
import { openLoop, quantile } from '../support/load.ts'
import { median } from '../support/measure.ts'
import type { Row } from '../support/report.ts'

const RATE = 500
const RULES = 100_000 - 10
/** Unchanged: what noise alone makes of two quiet stretches on a machine that is shared. */
const GOAL = 1.25

/**
 * Latency at 500 requests a second with 100,000 rules: quiet, while /metrics is scraped four times a second, and while
 * one rule after the other changes, each a new snapshot. The three take turns, and the medians of the turns count.
 */
export async function undisturbed(context: BenchContext): Promise<Row[]> {
  const laptop = await startLaptop({ manifests: { 'bench.yaml': benchManifests(context.bed, ['llm_a.*']) } })
  const db = await openLaptopDatabase(laptop)
  try {
    await addRules(laptop, db, RULES)
    let swaps = 0
    const disturbances: Readonly<Record<string, (until: AbortSignal) => Promise<void>>> = {
      quiet: async () => undefined,
      'while /metrics is scraped': (until) => repeat(until, 250, () => scrape(laptop)),
      'while snapshots of 100,000 rules are swapped in': (until) =>
        repeat(until, 500, async () => {
          swaps += 1
          await changeRule(db, swaps)
          await applied(laptop, db)
        }),
    }
    const found = await takeTurns(targetOf(laptop), disturbances, context.isQuick ? 2 : 5)
    if (swaps === 0) throw new Error('no snapshot was swapped in')
    return Object.keys(disturbances).flatMap((name) => (name === 'quiet' ? [] : rowsOf(found, name)))
  } finally {
    await db.close()
    await laptop.stop()
  }
}

type Turns = ReadonlyMap<string, { readonly p50: number[]; readonly p99: number[] }>

async function takeTurns(
  target: Target,
  disturbances: Readonly<Record<string, (until: AbortSignal) => Promise<void>>>,
  turns: number,
): Promise<Turns> {
  const found = new Map(
    Object.keys(disturbances).map((name) => [name, { p50: [] as number[], p99: [] as number[] }]),
  )
  await openLoop(target, RATE, 3)
  for (let turn = 0; turn < turns; turn += 1) {
    for (const [name, disturb] of Object.entries(disturbances)) {
      const over = new AbortController()
      const disturbed = disturb(over.signal)
      const latencies = await openLoop(target, RATE, 5)
      over.abort()
      await disturbed
      found.get(name)?.p50.push(quantile(latencies, 0.5))
      found.get(name)?.p99.push(quantile(latencies, 0.99))
    }
  }
  return found
}

function rowsOf(found: Turns, name: string): Row[] {
  return (['p50', 'p99'] as const).map((figure) => ({
    bench: 'B2',
    figure: `${figure} ms at ${RATE}/s ${name}`,
    ours: median(found.get(name)?.[figure] ?? []),
    peer: 'quiet',
    theirs: median(found.get('quiet')?.[figure] ?? []),
    goal: GOAL,
  }))
}

async function repeat(until: AbortSignal, everyMs: number, work: () => Promise<void>): Promise<void> {
  while (!until.aborted) {
    await work()
    await sleep(everyMs)
  }
}

async function scrape(laptop: Laptop): Promise<void> {
  const answer = await fetch(`${laptop.ready.gateway_url}/metrics`)
  const text = await answer.text()
  if (!text.includes('svc_requests_total')) throw new Error(`/metrics answered ${answer.status}`)
}

function targetOf(laptop: Laptop): Target {
  return testAgent(laptop).target
}
