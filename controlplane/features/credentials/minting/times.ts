import { backOffLimitMs } from '../../../../core/state/back-off.ts'

/** Maximum margin in milliseconds before the expiry of a credential, for clock differences and requests in flight. */
const MAX_MARGIN_MS = 5_000
/**
 * Minimum lifetime of a credential in milliseconds. A shorter-lived credential would expire before gateways receive it.
 */
export const MIN_LIFETIME_MS = 1_000
/**
 * Minimum time in milliseconds between two mintings for one Connector, because each minting writes a row and a new
 * version of the configuration.
 */
const MIN_DUE_MS = 500
/**
 * A credential with a lifetime below this number of milliseconds is replaced after a smaller part of its lifetime (see
 * `timesOf`).
 */
const SHORT_LIFETIME_MS = 60_000
const RETRY = { firstMs: 500, maxMs: 15_000 }

/**
 * Returns the time until a credential expires for gateways, and the time until its replacement is due. Gateways let the
 * credential expire early, by a tenth of the lifetime but at most `MAX_MARGIN_MS`. The replacement is due between half
 * and three quarters of the time until the expiry, at random, so that Connectors that started together do not refresh
 * together. For a lifetime below `SHORT_LIFETIME_MS`, the replacement is due between a quarter and half of this time,
 * which leaves time for the minting and the transfer to the gateways.
 *
 * @param lifetimeMs Remaining lifetime in milliseconds.
 * @param random A number from 0 to below 1; 1 gives the latest time.
 */
export function timesOf(
  lifetimeMs: number,
  random: number,
): { readonly expiresInMs: number; readonly dueInMs: number } {
  const expiresInMs = lifetimeMs - Math.min(MAX_MARGIN_MS, lifetimeMs / 10)
  const earliest = lifetimeMs < SHORT_LIFETIME_MS ? 0.25 : 0.5
  return { expiresInMs, dueInMs: Math.max(MIN_DUE_MS, expiresInMs * (earliest + random / 4)) }
}

/**
 * Maximum time in milliseconds until a source without an expiry is read again. Polling normally detects changes of
 * files earlier; the regular read detects changes that polling missed.
 */
const REREAD_MS = 300_000

/**
 * Returns the times of a credential that is valid until its source changes: no expiry, and a jittered interval after
 * which the source is read again. `random` is between 0 and 1.
 */
export function timesWithoutExpiry(random: number): { readonly expiresInMs: null; readonly dueInMs: number } {
  return { expiresInMs: null, dueInMs: REREAD_MS * (0.75 + random / 4) }
}

/**
 * Returns the milliseconds until the next attempt. `failures`: number of earlier failures in a row. `random` is between
 * 0 and 1.
 */
export function retryDelayMs(failures: number, random: number): number {
  return backOffLimitMs(failures, RETRY) * (0.75 + random / 2)
}
