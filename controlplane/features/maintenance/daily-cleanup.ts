import type { Logger } from 'pino'
import type { Retention } from './service.ts'

const FIRST_CHECK_MS = 60_000
const CHECK_INTERVAL_MS = 600_000

type DailyCleanupDeps = { readonly retention: Retention; readonly log: Logger }

/**
 * Until disposed, runs the cleanup once a day, so that no external job is necessary. A run at any replica, or by
 * any other caller, counts for all replicas.
 */
export class DailyCleanup implements Disposable {
  readonly #deps: DailyCleanupDeps
  #timer: NodeJS.Timeout

  constructor(deps: DailyCleanupDeps) {
    this.#deps = deps
    this.#timer = this.#next(FIRST_CHECK_MS)
  }

  #next(delayMs: number): NodeJS.Timeout {
    return setTimeout(() => {
      this.#deps.retention.runWhenDue().catch((error: unknown) => {
        this.#deps.log.error({ err: error }, 'the daily cleanup failed')
      })
      this.#timer = this.#next(CHECK_INTERVAL_MS)
    }, delayMs).unref()
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
  }
}
