import { ChaperoneError } from '../../../core/errors.ts'
import { LIMITS } from '../../../core/wire/limits.ts'

/** Owner of a quota: a Gateway with all its processes, or the sidecars of one agent. */
export type IngestOwner = { readonly name: string; readonly agent: string | null }

export type IngestQuota = {
  /** Counts a batch of the owner. Throws `rate_limited` with the seconds to wait; a refused batch is not counted. */
  take(owner: IngestOwner, records: number): void
  /** Number of refused batches since the start, by Gateway. */
  readonly refused: ReadonlyMap<string, number>
}

export type IngestQuotaOptions = {
  readonly nowMs: () => number
  readonly gatewayPerSecond?: number
  readonly sidecarPerSecond?: number
}

type Bucket = { tokens: number; atMs: number }

/** Size of a token bucket, as seconds of its rate: so much may arrive at once after an idle time. */
const BURST_S = 10

/**
 * Limits the share of the database that one gateway uses, by a token bucket per owner. A batch of any size is accepted
 * while the bucket is not empty, so that no batch is refused for ever. `nowMs` is monotonic.
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

  /** Removes full buckets, because a missing bucket counts as full. */
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
        detail: `${agent === null ? `Gateway ${name}` : `The sidecar of ${agent} at ${name}`} sends more than ${perSecond} records a second. It keeps them; send the batch again later.`,
        retryAfterS: Math.max(1, Math.ceil(-tokens / perSecond)),
      })
    },
  }
}
