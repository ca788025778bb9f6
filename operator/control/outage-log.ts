import type { Logger } from 'pino'

/**
 * Says that something cannot be reached: one line when it begins, one now and then while it lasts, one when it is over.
 * Whoever asks every second would otherwise say the same thing every second.
 */
export type OutageLog = {
  failed(about: string, error: unknown): void
  answered(about: string): void
}

export type OutageLogDeps = {
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** The words of the line, such as `replica of the control plane not compared`. */
  readonly message: string
  readonly monotonicMs?: () => number
}

type Outage = { readonly since: number; attempts: number; sayAgainAt: number; pauseMs: number }

const FIRST_PAUSE_MS = 30_000
const MAX_PAUSE_MS = 30 * 60_000

export function createOutageLog(deps: OutageLogDeps): OutageLog {
  const { log, message, monotonicMs = () => performance.now() } = deps
  const outages = new Map<string, Outage>()
  const seconds = (ms: number) => Math.round(ms / 1_000)

  return {
    failed(about, error) {
      const now = monotonicMs()
      const outage = outages.get(about) ?? {
        since: now,
        attempts: 0,
        sayAgainAt: now,
        pauseMs: FIRST_PAUSE_MS,
      }
      outages.set(about, outage)
      outage.attempts += 1
      if (now < outage.sayAgainAt) return
      outage.sayAgainAt = now + outage.pauseMs
      outage.pauseMs = Math.min(outage.pauseMs * 2, MAX_PAUSE_MS)
      const { attempts, since } = outage
      log.warn({ about, error: reasonOf(error), attempts, for_s: seconds(now - since) }, message)
    },
    answered(about) {
      const outage = outages.get(about)
      if (outage === undefined) return
      outages.delete(about)
      log.info({ about, after_s: seconds(monotonicMs() - outage.since) }, `${message}: over`)
    },
  }
}

/** One line. A stack would say where we asked, not why nobody answered. */
export function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, 500)
}
