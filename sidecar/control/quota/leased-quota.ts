import type { SlidingWindow, Taken } from '../../../core/state/sliding-window.ts'
import { QUOTA_LEASE_MS, type QuotaLeaseReply } from '../../../core/wire/gateway/quota-lease.ts'
import type { AcquireQuotaLease } from './quota-lease-client.ts'

/**
 * Maximum number of slots in one lease. A lease has a twelfth of the slots of a minute, so that no process gets all
 * slots of a small limit, but at most this number of slots.
 */
const MAX_LEASE_SLOTS = 10
const LEASES_PER_MINUTE = 12
/** Number of remaining slots at which the next lease is requested, so that requests rarely wait for a lease. */
const LOW_SLOTS = 3
/**
 * Interval in milliseconds of lease requests while the quota is exhausted. Other processes may release slots at any
 * time.
 */
const RETRY_MS = 1_000
/** Time in milliseconds after a failed lease request for which the process enforces the limit by its own count. */
const UNREACHABLE_MS = 1_000
const WINDOW_MS = 60_000

export type LeasedQuotaDeps = {
  readonly agent: string
  readonly perMinute: number
  /** Requests that this process admitted, under a lease or not. */
  readonly window: SlidingWindow
  readonly acquireLease: AcquireQuotaLease
  readonly monotonicMs: () => number
}

/**
 * The share of this process in a quota that several processes use. The control plane leases slots of the quota for ten
 * seconds. While the control plane is unreachable, the process enforces the whole limit by its own count. This is safe,
 * because a rate limit protects providers and grants no permission. The `failurePolicy` of the Gateway decides which
 * requests are denied without a control plane.
 */
export class LeasedQuota {
  readonly #deps: LeasedQuotaDeps
  readonly #leaseSize: number
  #slots = 0
  #expiresAt = 0
  /** Times of admitted requests that are not yet reported to the control plane. */
  #unreported: number[]
  #pending: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #freeAt = 0
  #exhaustedUntil = 0
  #countsAloneUntil = 0

  constructor(deps: LeasedQuotaDeps) {
    this.#deps = deps
    this.#leaseSize = Math.min(MAX_LEASE_SLOTS, Math.max(1, Math.ceil(deps.perMinute / LEASES_PER_MINUTE)))
    this.#unreported = [...deps.window.recent(deps.monotonicMs())]
  }

  take(now: number): Taken | Promise<Taken> {
    return this.#takeNow(now) ?? this.#wait()
  }

  /** Returns unused slots and reports pending usage. Never rejects. */
  async release(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#pending
    if (this.#slots === 0 && this.#unreported.length === 0) return
    this.#slots = 0
    await this.#requestLease(0)
  }

  /** Takes a slot immediately. Returns null when a lease must be requested first. */
  #takeNow(now: number): Taken | null {
    if (now < this.#countsAloneUntil) return this.#admit(now)
    if (this.#slots > 0 && now < this.#expiresAt) return this.#spend(now)
    if (this.#pending !== null || now >= this.#exhaustedUntil) return null
    return { ok: false, retryAfterS: Math.max(1, Math.ceil((this.#freeAt - now) / 1_000)) }
  }

  async #wait(): Promise<Taken> {
    for (;;) {
      await (this.#pending ?? this.#requestLease(this.#leaseSize))
      const taken = this.#takeNow(this.#deps.monotonicMs())
      if (taken !== null) return taken
    }
  }

  #spend(now: number): Taken {
    const taken = this.#admit(now)
    if (!taken.ok) return taken
    this.#slots -= 1
    if (this.#slots <= LOW_SLOTS && this.#leaseSize > LOW_SLOTS && this.#pending === null)
      void this.#requestLease(this.#leaseSize)
    return taken
  }

  #admit(now: number): Taken {
    const taken = this.#deps.window.take(now)
    if (!taken.ok) return taken
    this.#unreported.push(now)
    if (this.#unreported.length > this.#deps.perMinute)
      this.#unreported = this.#unreported.filter(isWithin(now))
    return taken
  }

  #requestLease(want: number): Promise<void> {
    const { agent, perMinute, acquireLease, monotonicMs } = this.#deps
    const requestedAt = monotonicMs()
    const reporting = this.#unreported
    this.#unreported = []
    const used = reporting.filter(isWithin(requestedAt)).map((at) => requestedAt - at)
    this.#pending = acquireLease({ agent, per_minute: perMinute, want, used })
      .then(
        (reply) => this.#applyLease(reply, want, requestedAt),
        () => {
          this.#unreported = [...reporting, ...this.#unreported]
          this.#countsAloneUntil = monotonicMs() + UNREACHABLE_MS
        },
      )
      .finally(() => {
        this.#pending = null
      })
    return this.#pending
  }

  #applyLease({ granted, retry_after_ms }: QuotaLeaseReply, want: number, requestedAt: number): void {
    // Requests that were admitted during the call used slots of the new lease.
    this.#slots = Math.max(0, granted - this.#unreported.length)
    this.#expiresAt = requestedAt + QUOTA_LEASE_MS
    const now = this.#deps.monotonicMs()
    const isExhausted = want > 0 && granted === 0
    this.#freeAt = now + retry_after_ms
    this.#exhaustedUntil = isExhausted ? Math.min(this.#freeAt, now + RETRY_MS) : 0
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.release(), QUOTA_LEASE_MS).unref()
  }
}

function isWithin(now: number): (at: number) => boolean {
  return (at) => at > now - WINDOW_MS
}
