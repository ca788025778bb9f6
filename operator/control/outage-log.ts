import type { Logger } from 'pino'

/**
 * Logs outages of polled peers: one line at the beginning, further lines after pauses of 30 s, 1 min, 2 min, … (at most
 * 30 min) while the outage lasts, and one line at its end.
 */
export type OutageLog = {
  failed(peer: string, error: unknown): void
  answered(peer: string): void
}

export type OutageLogDeps = {
  readonly log: Pick<Logger, 'info' | 'warn'>
  /** Log message of an outage, such as `pod could not be reported; retrying`. */
  readonly message: string
  readonly monotonicMs?: () => number
}

type Outage = { readonly since: number; attempts: number; nextLineAt: number; pauseMs: number }

const FIRST_PAUSE_MS = 30_000
const MAX_PAUSE_MS = 30 * 60_000

export function createOutageLog(deps: OutageLogDeps): OutageLog {
  const { log, message, monotonicMs = () => performance.now() } = deps
  const outages = new Map<string, Outage>()
  const seconds = (ms: number) => Math.round(ms / 1_000)

  return {
    failed(peer, error) {
      const now = monotonicMs()
      const outage = outages.get(peer) ?? {
        since: now,
        attempts: 0,
        nextLineAt: now,
        pauseMs: FIRST_PAUSE_MS,
      }
      outages.set(peer, outage)
      outage.attempts += 1
      if (now < outage.nextLineAt) return
      outage.nextLineAt = now + outage.pauseMs
      outage.pauseMs = Math.min(outage.pauseMs * 2, MAX_PAUSE_MS)
      const { attempts, since } = outage
      log.warn({ about: peer, error: reasonOf(error), attempts, for_s: seconds(now - since) }, message)
    },
    answered(peer) {
      const outage = outages.get(peer)
      if (outage === undefined) return
      outages.delete(peer)
      log.info({ about: peer, after_s: seconds(monotonicMs() - outage.since) }, `${message}: over`)
    },
  }
}

/** Returns the error message in one line, without the stack: a stack names the caller, not the cause of an outage. */
function reasonOf(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ').slice(0, 500)
}
