import { isIP } from 'node:net'
import type { Resolve } from '../../../core/request/outbound-address.ts'

/** Longest wait for DNS where the address is known, in milliseconds. The connection itself has a limit of 3 s. */
const DNS_MS = 1_000
/** Time in milliseconds after a failure during which DNS is not queried. */
const PAUSE_MS = 30_000

/**
 * Returns a resolver that answers with a known address of the control plane where DNS does not answer, for example
 * because a NetworkPolicy admits no DNS server. DNS comes first: the address of a Service changes when the Service is
 * created again.
 */
export function withKnownAddress(
  resolve: Resolve,
  address: string | null,
  monotonicMs: () => number,
): Resolve {
  if (address === null) return resolve
  const known = [{ address, family: isIP(address) }]
  let failedAt = Number.NEGATIVE_INFINITY
  return async (host) => {
    if (monotonicMs() - failedAt < PAUSE_MS) return known
    const { promise: late, reject } = Promise.withResolvers<never>()
    const timer = setTimeout(() => reject(new Error('DNS did not answer in time')), DNS_MS)
    try {
      return await Promise.race([resolve(host), late])
    } catch {
      // The caller connects to the known address instead, and reports a failure of that connection.
      failedAt = monotonicMs()
      return known
    } finally {
      clearTimeout(timer)
    }
  }
}
