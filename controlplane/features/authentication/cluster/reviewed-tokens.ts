import { ChaperoneError } from '../../../../core/errors.ts'
import { createSlidingWindow, type SlidingWindow } from '../../../../core/state/sliding-window.ts'
import { URGENT_MS, withinMs } from '../../../urgent.ts'
import { networkOf } from '../../sessions/attempts.ts'
import type { ReviewedPod } from './token-review.ts'

/** A token that a caller presented. `hash`: SHA-256 of the token in hexadecimal digits. */
export type PresentedToken = {
  readonly token: string
  readonly hash: string
  /** Expiry of the token in Unix milliseconds; null for a token without an expiry. */
  readonly expiresAtMs: number | null
  /**
   * IP address of the caller. If several users share the address, the port of the connection is included: `127.0.0.1
   * port 4711`. Null for the token of a session, which was reviewed at sign-in.
   */
  readonly address: string | null
}

/**
 * Result of a TokenReview. `subject`: the owner of the token; null for a rejected token. `ageMs`: time since the review
 * in milliseconds.
 */
export type Reviewed<T> = { readonly subject: T | null; readonly ageMs: number }

/**
 * Cache of the cluster's TokenReviews. Tokens that were accepted before are reviewed without a limit. Reviews of all
 * other tokens are limited per address and in total, so that invented tokens neither overload the API server nor evict
 * accepted tokens from the cache.
 */
export type ReviewedTokens<T = ReviewedPod> = {
  /**
   * Returns the cached or a new review of the token. Rejects with `not_ready` when the API server does not answer, or
   * when a limit for unknown tokens is exceeded.
   */
  of(presented: PresentedToken, use: ReviewUse): Promise<Reviewed<T>>
}

export type ReviewUse = {
  /** Cache time of a successful review in milliseconds; 0 reviews the token at every call. */
  readonly maxAgeMs: number
  /**
   * True to accept the last successful review beyond `maxAgeMs` while the API server does not answer, until the token
   * expires.
   */
  readonly survivesSilence?: boolean
  /**
   * Marks the call as urgent, so that it does not wait for the API server longer than `URGENT_MS`. After this time, a
   * cached successful review is accepted up to this age in milliseconds.
   */
  readonly urgentMaxAgeMs?: number
}

export type ReviewLimits = {
  /**
   * Maximum number of rejected tokens per minute from one address, or on one connection of a shared address. Beyond
   * this number, unknown tokens are refused without a review.
   */
  readonly rejectedPerAddress: number
  /** Maximum number of reviews of unknown tokens per minute, over all addresses. */
  readonly unknownPerMinute: number
  /** Maximum number of concurrent reviews of unknown tokens. */
  readonly unknownInFlight: number
}

const LIMITS: ReviewLimits = { rejectedPerAddress: 20, unknownPerMinute: 6_000, unknownInFlight: 8 }
const BAD_REVIEW_TTL_MS = 10_000
const MAX_GOOD = 20_000
const MAX_BAD = 5_000
/** Maximum number of unknown tokens from one address that are being reviewed or queued. Further tokens are refused. */
const ADDRESS_IN_FLIGHT = 32
const CONNECTION_IN_FLIGHT = 2
const MAX_ADDRESSES = 10_000
/** Maximum number of unknown tokens that are queued for a review. */
const MAX_WAITING = 1_000

export function createReviewedTokens<T>(
  { review }: { readonly review: (token: string) => Promise<T | null> },
  nowMs: () => number = () => performance.now(),
  limits: ReviewLimits = LIMITS,
): ReviewedTokens<T> {
  const good = new Map<string, { readonly subject: T; readonly atMs: number }>()
  const bad = new Map<string, number>()
  const inFlight = new Map<string, Promise<Reviewed<T>>>()
  const admission = createAdmission(nowMs, limits)

  async function ask({ token, hash, address }: PresentedToken): Promise<Reviewed<T>> {
    const isKnown = address === null || good.has(hash)
    const subject = isKnown ? await review(token) : await admission.admit(address, () => review(token))
    if (subject === null) good.delete(hash)
    if (subject === null) put(bad, hash, nowMs(), MAX_BAD)
    else put(good, hash, { subject, atMs: nowMs() }, MAX_GOOD)
    return { subject, ageMs: 0 }
  }

  /** Reviews the token. Concurrent callers with the same token share one review. */
  function shared(presented: PresentedToken): Promise<Reviewed<T>> {
    const running = inFlight.get(presented.hash)
    if (running !== undefined) return running
    const asked = ask(presented).finally(() => inFlight.delete(presented.hash))
    inFlight.set(presented.hash, asked)
    return asked
  }

  async function reviewed(
    presented: PresentedToken,
    use: ReviewUse,
    cached: Reviewed<T> | undefined,
  ): Promise<Reviewed<T>> {
    const asked = shared(presented)
    try {
      return await (use.urgentMaxAgeMs === undefined ? asked : withinMs(asked, URGENT_MS))
    } catch (error) {
      if (cached !== undefined && isUsable(presented, use, cached.ageMs)) return cached
      throw error
    }
  }

  return {
    async of(presented, use) {
      const { hash } = presented
      const rejectedAt = bad.get(hash)
      if (rejectedAt !== undefined && nowMs() - rejectedAt < BAD_REVIEW_TTL_MS)
        return { subject: null, ageMs: nowMs() - rejectedAt }
      const known = good.get(hash)
      const cached = known && { subject: known.subject, ageMs: nowMs() - known.atMs }
      if (cached !== undefined && cached.ageMs < use.maxAgeMs) return cached
      return reviewed(presented, use, cached)
    },
  }
}

/** Reports whether the last successful review of a token is accepted while the API server does not answer. */
function isUsable({ expiresAtMs }: PresentedToken, use: ReviewUse, ageMs: number): boolean {
  const { survivesSilence = false, urgentMaxAgeMs = Number.NEGATIVE_INFINITY } = use
  const isUnexpired = expiresAtMs !== null && expiresAtMs > Date.now()
  return isUnexpired && (survivesSilence || ageMs <= urgentMaxAgeMs)
}

/** Sets the value of the key, and evicts the oldest keys of the map beyond `max`. */
function put<V>(map: Map<string, V>, key: string, value: V, max: number): void {
  map.delete(key)
  for (const oldest of map.keys()) {
    if (map.size < max) break
    map.delete(oldest)
  }
  map.set(key, value)
}

/** Creates the rate and concurrency limits for reviews of unknown tokens. */
function createAdmission(nowMs: () => number, limits: ReviewLimits) {
  const rejected = new Map<string, SlidingWindow>()
  const blocked = new Map<string, number>()
  const total = createSlidingWindow(limits.unknownPerMinute)
  const ofAddress = { inFlight: ADDRESS_IN_FLIGHT, pending: MAX_WAITING, windows: [total] }
  /** Limits the reviews of unknown tokens from shared addresses to half of all reviews per minute. */
  const shared = createSlidingWindow(Math.ceil(limits.unknownPerMinute / 2))
  const ofConnection = { inFlight: CONNECTION_IN_FLIGHT, pending: MAX_WAITING / 2, windows: [shared, total] }
  const byAddress = new Map<string, number>()
  const waiting: Array<() => void> = []
  let running = 0

  function refuseBeyondLimits(address: string): void {
    const blockedUntil = blocked.get(address) ?? 0
    if (blockedUntil > nowMs()) throw tooMany(Math.ceil((blockedUntil - nowMs()) / 1_000))
    blocked.delete(address)
    const bounds = isShared(address) ? ofConnection : ofAddress
    if (isFull(address, bounds)) throw tooMany(1)
    for (const window of bounds.windows) takeFrom(window)
  }

  function isFull(address: string, { inFlight, pending }: typeof ofAddress): boolean {
    return (byAddress.get(address) ?? 0) >= inFlight || waiting.length >= pending
  }

  function takeFrom(window: SlidingWindow): void {
    const taken = window.take(nowMs())
    if (!taken.ok) throw tooMany(taken.retryAfterS)
  }

  function countRejected(address: string): void {
    const window = rejected.get(address) ?? createSlidingWindow(limits.rejectedPerAddress)
    put(rejected, address, window, MAX_ADDRESSES)
    const taken = window.take(nowMs())
    if (!taken.ok) put(blocked, address, nowMs() + taken.retryAfterS * 1_000, MAX_ADDRESSES)
  }

  async function inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (running >= limits.unknownInFlight) await new Promise<void>((resolve) => waiting.push(resolve))
    else running += 1
    try {
      return await work()
    } finally {
      const next = waiting.shift()
      if (next === undefined) running -= 1
      else next()
    }
  }

  return {
    async admit<T>(from: string, review: () => Promise<T | null>): Promise<T | null> {
      const address = networkOf(from)
      refuseBeyondLimits(address)
      byAddress.set(address, (byAddress.get(address) ?? 0) + 1)
      try {
        const subject = await inTurn(review)
        if (subject === null) countRejected(address)
        return subject
      } finally {
        const left = (byAddress.get(address) ?? 1) - 1
        if (left === 0) byAddress.delete(address)
        else byAddress.set(address, left)
      }
    },
  }
}

function isShared(address: string): boolean {
  return address.includes(' port ')
}

function tooMany(retryAfterS: number): ChaperoneError {
  const detail =
    'The control plane is already checking too many tokens that it does not know. Try again in a moment.'
  return new ChaperoneError('not_ready', { detail, retryAfterS })
}
