import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'

/** Owner of an ingest quota: a Gateway with all its processes, or all sidecars of one agent. */
export type IngestOwner = { readonly name: string; readonly agent: string | null }

export type IngestQuota = {
  /**
   * Counts a batch against the owner's quota. Throws `rate_limited` with the seconds to wait; a refused batch is not
   * counted.
   */
  take(owner: IngestOwner, records: number): void
  /** Number of refused batches by Gateway, since the start of this process. */
  readonly refused: ReadonlyMap<string, number>
}

export type IngestQuotaOptions = {
  readonly nowMs: () => number
  readonly gatewayPerSecond?: number
  readonly sidecarPerSecond?: number
}

type Bucket = { tokens: number; atMs: number }

/** Capacity of a token bucket, in seconds of its rate. After an idle time, an owner may send this amount at once. */
const BURST_S = 10

/**
 * Limits the database load of each owner by a token bucket. A bucket that is not empty accepts a batch of any size, so
 * that a large batch is not refused for ever. `nowMs` must be monotonic.
 */
export function createIngestQuota(options: IngestQuotaOptions): IngestQuota {
  const {
    nowMs,
    gatewayPerSecond = LIMITS.ingestGatewayPerSecond,
    sidecarPerSecond = LIMITS.ingestSidecarPerSecond,
  } = options
  const buckets = new Map<string, Bucket>()
  const refused = new Map<string, number>()
  let sweepAt = nowMs() + BURST_S * 1_000

  /** Removes full buckets. A missing bucket counts as full, so the removal has no effect on quotas. */
  function sweep(now: number): void {
    if (now < sweepAt) return
    sweepAt = now + BURST_S * 1_000
    for (const [key, { atMs }] of buckets) if (atMs <= now - 2 * BURST_S * 1_000) buckets.delete(key)
  }

  return {
    refused,
    take({ name, agent }, records) {
      const now = nowMs()
      sweep(now)
      const perSecond = agent === null ? gatewayPerSecond : sidecarPerSecond
      const key = JSON.stringify([name, agent])
      const bucket = buckets.get(key) ?? { tokens: perSecond * BURST_S, atMs: now }
      buckets.set(key, bucket)
      const tokens = Math.min(perSecond * BURST_S, bucket.tokens + ((now - bucket.atMs) / 1_000) * perSecond)
      bucket.tokens = tokens
      bucket.atMs = now
      if (tokens > 0) {
        bucket.tokens -= records
        return
      }
      refused.set(name, (refused.get(name) ?? 0) + 1)
      throw new ChaperoneError('rate_limited', {
        detail: `${agent === null ? `Gateway ${name}` : `The sidecar of ${agent} at ${name}`} sends more than ${perSecond} records a second. Keep the records, and send the batch again later.`,
        retryAfterS: Math.max(1, Math.ceil(-tokens / perSecond)),
      })
    },
  }
}
