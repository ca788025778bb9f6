import type { Logger } from 'pino'
import type { Retention } from './service.ts'

const FIRST_LOOK_MS = 60_000
const LOOK_MS = 600_000

/** Runs the cleanup once a day over all replicas and callers, so that no external job is necessary. */
export function createDailyCleanup(deps: {
  readonly retention: Retention
  readonly log: Logger
}): Disposable {
  let timer = setTimeout(look, FIRST_LOOK_MS)
  timer.unref()

  function look(): void {
    deps.retention.runWhenDue().catch((error: unknown) => {
      deps.log.error({ err: error }, 'the daily cleanup failed')
    })
    timer = setTimeout(look, LOOK_MS)
    timer.unref()
  }

  return { [Symbol.dispose]: () => clearTimeout(timer) }
}
