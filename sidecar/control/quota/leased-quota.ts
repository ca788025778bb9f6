import type { SlidingWindow, Taken } from '../../../core/state/sliding-window.ts'
import { QUOTA_LEASE_MS, type QuotaLeaseReply } from '../../../core/wire/gateway/quota-lease.ts'
import type { AcquireQuotaLease } from './quota-lease-client.ts'

/** Lent at once, at most. A limit of 120 a minute is a dozen blocks; of a small one, nobody takes it all. */
const BLOCK = 10
const BLOCKS = 12
/** Asked for more before the last one is gone, so that hardly a request waits. */
const FEW = 3
/** How often an empty budget is asked for again: others give back what they do not use. */
const ASK_AGAIN_MS = 1_000
/** How long nobody asks a control plane that did not answer. */
const ALONE_MS = 1_000
const WINDOW_MS = 60_000

export type LeasedQuotaDeps = {
  readonly agent: string
  readonly perMinute: number
  /** What this process admitted, shared or not. */
  readonly window: SlidingWindow
  readonly acquireLease: AcquireQuotaLease
  readonly monotonicMs: () => number
}

/**
 * The part of this process in a budget that several share: slots that the control plane lends for ten seconds. While it
 * cannot be asked the process counts for itself: a limit spares providers, it is no permission, and what a lost control
 * plane forbids is said elsewhere.
 */
export class LeasedQuota {
  readonly #deps: LeasedQuotaDeps
  readonly #block: number
  #slots = 0
  #expiresAt = 0
  /** When those were admitted that the control plane has not heard of. */
  #untold: number[]
  #asking: Promise<void> | null = null
  #timer: NodeJS.Timeout | null = null
  #freeAt = 0
  #emptyUntil = 0
  #aloneUntil = 0

  constructor(deps: LeasedQuotaDeps) {
    this.#deps = deps
    this.#block = Math.min(BLOCK, Math.max(1, Math.ceil(deps.perMinute / BLOCKS)))
    this.#untold = [...deps.window.recent(deps.monotonicMs())]
  }

  take(now: number): Taken | Promise<Taken> {
    return this.#takeNow(now) ?? this.#wait()
  }

  /** What is not used and what is not told yet. Never rejects. */
  async release(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer)
    await this.#asking
    if (this.#slots === 0 && this.#untold.length === 0) return
    this.#slots = 0
    await this.#ask(0)
  }

  /** Null when the control plane has to be asked first. */
  #takeNow(now: number): Taken | null {
    if (now < this.#aloneUntil) return this.#admit(now)
    if (this.#slots > 0 && now < this.#expiresAt) return this.#spend(now)
    if (this.#asking !== null || now >= this.#emptyUntil) return null
    return { ok: false, retryAfterS: Math.max(1, Math.ceil((this.#freeAt - now) / 1_000)) }
  }

  async #wait(): Promise<Taken> {
    for (;;) {
      await (this.#asking ?? this.#ask(this.#block))
      const taken = this.#takeNow(this.#deps.monotonicMs())
      if (taken !== null) return taken
    }
  }

  #spend(now: number): Taken {
    const taken = this.#admit(now)
    if (!taken.ok) return taken
    this.#slots -= 1
    if (this.#slots <= FEW && this.#block > FEW && this.#asking === null) void this.#ask(this.#block)
    return taken
  }

  #admit(now: number): Taken {
    const taken = this.#deps.window.take(now)
    if (!taken.ok) return taken
    this.#untold.push(now)
    if (this.#untold.length > this.#deps.perMinute) this.#untold = this.#untold.filter(isWithin(now))
    return taken
  }

  #ask(want: number): Promise<void> {
    const { agent, perMinute, acquireLease, monotonicMs } = this.#deps
    const askedAt = monotonicMs()
    const told = this.#untold
    this.#untold = []
    const used = told.filter(isWithin(askedAt)).map((at) => askedAt - at)
    this.#asking = acquireLease({ agent, per_minute: perMinute, want, used })
      .then(
        (reply) => this.#lent(reply, want, askedAt),
        () => {
          this.#untold = [...told, ...this.#untold]
          this.#aloneUntil = monotonicMs() + ALONE_MS
        },
      )
      .finally(() => {
        this.#asking = null
      })
    return this.#asking
  }

  #lent({ granted, retry_after_ms }: QuotaLeaseReply, want: number, askedAt: number): void {
    // What was admitted meanwhile came from what is lent anew now.
    this.#slots = Math.max(0, granted - this.#untold.length)
    this.#expiresAt = askedAt + QUOTA_LEASE_MS
    const now = this.#deps.monotonicMs()
    const isEmpty = want > 0 && granted === 0
    this.#freeAt = now + retry_after_ms
    this.#emptyUntil = isEmpty ? Math.min(this.#freeAt, now + ASK_AGAIN_MS) : 0
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.release(), QUOTA_LEASE_MS).unref()
  }
}

function isWithin(now: number): (at: number) => boolean {
  return (at) => at > now - WINDOW_MS
}
