import type { Delivery } from './delivery.ts'

/**
 * Returns the reason why a delivery failed, at most 300 characters without control characters; null for a successful
 * delivery.
 */
export function errorOf(delivery: Delivery): string | null {
  return 'why' in delivery
    ? delivery.why
        .replace(/[\p{Cc}\p{Cf}]+/gu, ' ')
        .trim()
        .slice(0, 300)
    : null
}

/** Returns the failed delivery of an attempt that threw. */
export function asFailed(error: unknown): Delivery {
  return { outcome: 'failed', why: error instanceof Error ? error.message : String(error), status: null }
}
