import type { Logger } from 'pino'
import type { Db } from '../../../db/query.ts'
import { rollUp } from './store.ts'

export type TrafficRollup = AsyncDisposable

export type TrafficRollupOptions = {
  readonly db: Pick<Db, 'tx'>
  readonly log: Logger
  /** Milliseconds between two runs. */
  readonly everyMs?: number
}

/**
 * Milliseconds between two runs. After a longer time, a run adds more increments to each row, so a record
 * costs less. However, pages then read more increments.
 */
const EVERY_MS = 30_000
/**
 * Limits of one transaction. At these limits, its statement takes 3 to 5 s on two busy cores. Without the
 * limit of records, the increments of a backlog or of a restored backup exceed the statement timeout of 60 s,
 * and every run fails.
 */
const LIMITS = { increments: 10_000, records: 50_000 }

/**
 * Adds the increments of the traffic log to its roll-ups until disposed. Every replica has such a task; an advisory
 * lock ensures that only one replica works at a time. A transaction that fails changes nothing, and the next run
 * repeats its work.
 */
export function createTrafficRollup({ db, log, everyMs = EVERY_MS }: TrafficRollupOptions): TrafficRollup {
  let isDisposed = false
  let running: Promise<void> = Promise.resolve()

  async function drain(): Promise<void> {
    let hasMore = true
    while (hasMore && !isDisposed) hasMore = (await db.tx((q) => rollUp(q, LIMITS)))?.isLimited ?? false
  }

  const timer = setInterval(() => {
    running = running.then(drain).catch((error: unknown) => {
      log.error({ err: error }, 'traffic could not be rolled up')
    })
  }, everyMs)
  timer.unref()
  return {
    async [Symbol.asyncDispose]() {
      isDisposed = true
      clearInterval(timer)
      await running
    },
  }
}
