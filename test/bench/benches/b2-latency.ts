import type { Bench } from '../main.ts'
import { eachSubject } from '../support/each.ts'
import { openLoop, quantile } from '../support/load.ts'
import { absolute, compare, type Row } from '../support/report.ts'
import { undisturbed } from './b2-undisturbed.ts'

/** Open loop at 500 and 1,000 requests a second; what the proxy adds to the same calls made directly. */
export const latency: Bench = async (context) => {
  const rows: Row[] = []
  const seconds = context.isQuick ? 4 : 12
  const caFile = context.bed.caFile
  const { readFileSync } = await import('node:fs')
  const direct = { port: context.bed.upstreamPort, via: 'reverse', ca: readFileSync(caFile, 'utf8') } as const
  const names = ['chaperone', '@fastify/http-proxy', 'haproxy']
  for (const rate of [500, 1_000]) {
    const base = await openLoop(direct, rate, seconds)
    const p50 = new Map<string, number>()
    const p99 = new Map<string, number>()
    await eachSubject(
      context,
      async (subject) => {
        await openLoop(subject.target, rate, 3)
        const sorted = await openLoop(subject.target, rate, seconds)
        p50.set(subject.name, quantile(sorted, 0.5) - quantile(base, 0.5))
        p99.set(subject.name, quantile(sorted, 0.99) - quantile(base, 0.99))
      },
      names,
    )
    rows.push(absolute('B2', `added p50 ms at ${rate}/s`, p50.get('chaperone') ?? Number.NaN, 0.25))
    rows.push(...compare('B2', `added p50 ms at ${rate}/s`, p50))
    rows.push(...compare('B2', `added p99 ms at ${rate}/s`, p99, { haproxy: 2 }))
  }
  return [...rows, ...(await undisturbed(context))]
}
