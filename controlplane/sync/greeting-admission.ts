import { ChaperoneError } from '../../core/errors.ts'
import type { Clock } from '../../core/state/clock.ts'

export type GreetingAdmissionDeps = {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly random: () => number
  /**
   * Called at the first refused stream of a storm, that is, when more streams connect than the rate admits.
   */
  readonly onStorm: () => void
  readonly perSecond?: number
}

/** Streams per second that one replica admits. 5,000 streams take 20 s. */
const PER_SECOND = 250
/**
 * Longest `Retry-After` in milliseconds. A gateway without heartbeats refuses high-risk actions after 30 s. The
 * duration of a restart, this wait and the jitter of the gateway together are shorter.
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
 * Admits streams of gateway processes at a bounded rate. After a restart, thousands of processes connect within a
 * second. Each process needs its kill state and first heartbeat before it refuses high-risk actions (by default
 * after 30 s without a heartbeat). A token bucket with a burst of one second bounds the rate. Each refused stream
 * reserves the next free slot, so that the retries of a storm arrive at the admitted rate. A stream for which no
 * slot within `MAX_WAIT_MS` is free waits for a random time.
 */
export class GreetingAdmission implements Disposable {
  readonly #deps: GreetingAdmissionDeps
  readonly #perSecond: number
  readonly #deferred = new Map<NodeJS.Timeout, () => void>()
  #tokens: number
  #refilledAt: number
  #reservedUntil = Number.NEGATIVE_INFINITY

  constructor(deps: GreetingAdmissionDeps) {
    this.#deps = deps
    this.#perSecond = deps.perSecond ?? PER_SECOND
    this.#tokens = this.#perSecond
    this.#refilledAt = deps.clock.monotonicMs()
  }

  /** Admits one stream. Above the rate, throws `overloaded` with the time until the next free slot. */
  admit(): void {
    const now = this.#deps.clock.monotonicMs()
    this.#refill(now)
    if (this.#tokens < 1) throw overloaded(this.#reserve(now))
    this.#tokens -= 1
  }

  /**
   * Resolves when the refused streams should have connected: at once without a storm, and after `MAX_DEFERRAL_MS` at
   * the latest. The reply to a request for a section waits for this promise, because kill states and heartbeats are
   * more urgent.
   */
  settled(): Promise<void> {
    const untilFree = this.#reservedUntil + JITTER_MS - this.#deps.clock.monotonicMs()
    const waitMs = Math.min(untilFree, MAX_DEFERRAL_MS)
    if (!(waitMs > 0)) return Promise.resolve()
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#deferred.delete(timer)
        resolve()
      }, waitMs)
      this.#deferred.set(timer, resolve)
    })
  }

  get #slotMs(): number {
    return 1_000 / this.#perSecond
  }

  #refill(now: number): void {
    this.#tokens = Math.min(this.#perSecond, this.#tokens + (now - this.#refilledAt) / this.#slotMs)
    this.#refilledAt = now
  }

  #reserve(now: number): number {
    if (this.#reservedUntil + JITTER_MS < now) this.#deps.onStorm()
    const next = Math.max(this.#reservedUntil, now) + this.#slotMs
    if (next - now > MAX_WAIT_MS) return this.#deps.random() * MAX_WAIT_MS
    this.#reservedUntil = next
    return next - now
  }

  [Symbol.dispose](): void {
    for (const [timer, resolve] of this.#deferred) {
      clearTimeout(timer)
      resolve()
    }
    this.#deferred.clear()
  }
}

function overloaded(waitMs: number): ChaperoneError {
  const retryAfterS = Math.max(1, Math.ceil(waitMs / 1_000))
  const detail = `Many gateway processes are connecting. Try again in ${retryAfterS} s.`
  return new ChaperoneError('overloaded', { detail, retryAfterS })
}
