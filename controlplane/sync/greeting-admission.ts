import { ChaperoneError } from '../../core/errors.ts'
import type { Clock } from '../../core/state/clock.ts'

/**
 * Admits streams of gateway processes at a bounded rate. After a restart, thousands of processes connect within a
 * second. Each process must receive its kill state and first heartbeat before it begins to refuse high-risk actions
 * (by default after 30 s without a heartbeat).
 */
export type GreetingAdmission = Disposable & {
  /** Admits one stream. Above the rate, throws `overloaded` with the time until the next free slot. */
  admit(): void
  /**
   * Resolves at the time by which the refused streams should have connected. Resolves at once when no streams were
   * refused, and after `MAX_DEFERRAL_MS` at the latest. The reply to a request for a section waits for this promise,
   * because kill states and heartbeats are more urgent.
   */
  settled(): Promise<void>
}

export type GreetingAdmissionDeps = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly random: () => number
  /** Called at the first refused stream of a storm. */
  readonly onStorm: () => void
  readonly perSecond?: number
}

/** Streams per second that one replica admits. 5,000 streams take 20 s. */
const PER_SECOND = 250
/**
 * Longest `Retry-After` in milliseconds. A restart, this wait and the jitter of the gateway together stay below the 30
 * s after which a gateway without heartbeats refuses high-risk actions.
 */
const MAX_WAIT_MS = 20_000
/** A gateway adds up to a second of jitter to `Retry-After`, which has whole seconds. */
const JITTER_MS = 1_000
/**
 * Longest wait of `settled` in milliseconds. It is below the 20 s after which a gateway's request for a section times
 * out.
 */
const MAX_DEFERRAL_MS = 10_000

/**
 * Creates a token bucket that admits the streams of one second in a burst. Each refused stream reserves the next free
 * slot, so that the retries of a storm arrive at the admitted rate. Streams for which no slot within `MAX_WAIT_MS` is
 * free wait for a random time.
 */
export function createGreetingAdmission(deps: GreetingAdmissionDeps): GreetingAdmission {
  const { clock, random, onStorm, perSecond = PER_SECOND } = deps
  const slotMs = 1_000 / perSecond
  let tokens = perSecond
  let refilledAt = clock.monotonicMs()
  let reservedUntil = Number.NEGATIVE_INFINITY
  const deferred = new Map<NodeJS.Timeout, () => void>()

  function refill(now: number): void {
    tokens = Math.min(perSecond, tokens + (now - refilledAt) / slotMs)
    refilledAt = now
  }

  function reserve(now: number): number {
    if (reservedUntil + JITTER_MS < now) onStorm()
    const next = Math.max(reservedUntil, now) + slotMs
    if (next - now > MAX_WAIT_MS) return random() * MAX_WAIT_MS
    reservedUntil = next
    return next - now
  }

  return {
    admit() {
      const now = clock.monotonicMs()
      refill(now)
      if (tokens < 1) throw overloaded(reserve(now))
      tokens -= 1
    },
    settled() {
      const waitMs = Math.min(reservedUntil + JITTER_MS - clock.monotonicMs(), MAX_DEFERRAL_MS)
      if (!(waitMs > 0)) return Promise.resolve()
      return new Promise((resolve) => {
        const timer = setTimeout(() => {
          deferred.delete(timer)
          resolve()
        }, waitMs)
        deferred.set(timer, resolve)
      })
    },
    [Symbol.dispose]() {
      for (const [timer, resolve] of deferred) {
        clearTimeout(timer)
        resolve()
      }
      deferred.clear()
    },
  }
}

function overloaded(waitMs: number): ChaperoneError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000))
  const detail = `Many gateway processes are connecting. Try again in ${retryAfterS} s.`
  return new ChaperoneError('overloaded', { detail, retryAfterS })
}
