import { cpuUs } from '../../support/processes.ts'
import type { Bench, BenchContext } from '../main.ts'
import { startChaperone } from '../support/chaperone-subject.ts'
import { closedLoop } from '../support/load.ts'
import { median } from '../support/measure.ts'
import type { Row } from '../support/report.ts'
import type { Subject } from '../support/subject.ts'

const ROUNDS = 5
const CONNECTIONS = 32

/** What `audit: sync` costs beside the default: two installations, measured in turns, medians. */
export const journal: Bench = async (context) => {
  const started: Subject[] = []
  try {
    const sync = await startMeasured(context, 'sync', started)
    const byDefault = await startMeasured(context, 'async', started)
    for (let round = 0; round < ROUNDS; round += 1)
      for (const one of [sync, byDefault]) await measure(one, context)
    return FIGURES.map(([name, figure]): Row => {
      const [ours, theirs] = [median(sync.figures[name]), median(byDefault.figures[name])]
      return {
        bench: 'B16',
        figure: `audit: sync: ${figure}`,
        ours,
        peer: 'audit: async',
        theirs,
        goal: null,
      }
    })
  } finally {
    for (const subject of started) await subject.finish()
  }
}

const FIGURES = [
  ['alone', 'ms of wall time per request, one connection'],
  ['together', `ms of wall time per request, ${CONNECTIONS} connections`],
  ['cpu', `CPU us per request, ${CONNECTIONS} connections`],
] as const

type Figures = Readonly<Record<(typeof FIGURES)[number][0], number[]>>
type Measured = { readonly subject: Subject; readonly figures: Figures }

async function startMeasured(
  { bed, isQuick }: BenchContext,
  audit: 'async' | 'sync',
  started: Subject[],
): Promise<Measured> {
  const subject = await startChaperone(bed, audit)
  started.push(subject)
  await closedLoop(subject.target, CONNECTIONS, isQuick ? 2_000 : 18_000)
  return { subject, figures: { alone: [], together: [], cpu: [] } }
}

async function measure({ subject, figures }: Measured, { isQuick }: BenchContext): Promise<void> {
  const size = isQuick ? 1_000 : 6_000
  figures.alone.push(await perRequestMs(subject, 1, size / 10))
  const before = cpuUs(subject.pid)
  figures.together.push(await perRequestMs(subject, CONNECTIONS, size))
  figures.cpu.push((cpuUs(subject.pid) - before) / size)
}

/** Wall time over requests. */
async function perRequestMs({ target }: Subject, connections: number, requests: number): Promise<number> {
  const startedAt = performance.now()
  await closedLoop(target, connections, requests)
  return (performance.now() - startedAt) / requests
}
