import type { Logger } from 'pino'
import type { Retention } from './retention.ts'

const FIRST_CHECK_MS = 60_000
const CHECK_INTERVAL_MS = 600_000

/** Runs the cleanup once a day over all replicas and callers, so that no external job is necessary. */
export function createDailyCleanup(deps: {
  readonly retention: Retention
  readonly log: Logger
}): Disposable {
  let timer = setTimeout(check, FIRST_CHECK_MS)
  timer.unref()

  function check(): void {
    deps.retention.runWhenDue().catch((error: unknown) => {
      deps.log.error({ err: error }, 'the daily cleanup failed')
    })
    timer = setTimeout(check, CHECK_INTERVAL_MS)
    timer.unref()
  }

  return { [Symbol.dispose]: () => clearTimeout(timer) }
}
