/** Maximum margin in milliseconds before the expiry of a secret, for clock differences and requests in flight. */
const MAX_MARGIN_MS = 5_000
/** Minimum lifetime of a secret in milliseconds. A shorter-lived secret would expire before gateways receive it. */
export const MIN_LIFETIME_MS = 1_000
/**
 * Minimum time in milliseconds between two exchanges of one Connector. Each exchange writes a row and a new configuration
 * version.
 */
const MIN_DUE_MS = 500
/** Lifetime in milliseconds below which a replacement is due earlier. */
const SHORT_LIFETIME_MS = 60_000
const FIRST_RETRY_MS = 500
const MAX_RETRY_MS = 15_000

/**
 * Returns when a secret expires for gateways, a tenth of its lifetime early, and when its replacement is due: between
 * half and three quarters of that time, so that Connectors that started together do not refresh together. A short-lived
 * one is due between a quarter and half, which leaves time for the exchange and for its way to the gateways.
 *
 * @param lifetimeMs Milliseconds of the lifetime that are left.
 * @param random A number from 0 to below 1.
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
 * Milliseconds until a source without expiry is read again. Changes that the process notices are read at once; this finds
 * those that it missed.
 */
const REREAD_MS = 300_000

/** Returns no expiry and a jittered read interval, for a secret that is valid until its source changes. `random`: 0 to 1. */
export function timesWithoutExpiry(random: number): { readonly expiresInMs: null; readonly dueInMs: number } {
  return { expiresInMs: null, dueInMs: REREAD_MS * (0.75 + random / 4) }
}

/** Returns the milliseconds until the next attempt after so many failures in sequence. */
export function retryDelayMs(failures: number, random: number): number {
  return Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(failures, 10)) * (0.75 + random / 2)
}
