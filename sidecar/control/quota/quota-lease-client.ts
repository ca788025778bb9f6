import { type QuotaLeaseBody, QuotaLeaseReply } from '../../../core/wire/gateway/quota-lease.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { sleep } from '../../process/sleep.ts'
import { type ControlClient, jsonOf } from '../client/client.ts'

/** Requests a lease of the quota that several processes share. Rejects without a reply within a second. */
export type AcquireQuotaLease = (request: QuotaLeaseBody) => Promise<QuotaLeaseReply>

/** Adds to the latency of a request, hence short. */
const TIMEOUT_MS = 1_000

export function createAcquireQuotaLease(client: () => ControlClient): AcquireQuotaLease {
  return async (request) => {
    const pending = client().post(SYNC_PATHS.slots, request, TIMEOUT_MS)
    // The wait for a connection has a longer limit, so this promise may reject later. The control plane counts the
    // leased slots even if the reply is ignored.
    pending.catch(() => undefined)
    const replied = new AbortController()
    const reply = await Promise.race([pending, sleep(TIMEOUT_MS, replied.signal)]).finally(() =>
      replied.abort(),
    )
    const parsed = reply === undefined ? undefined : QuotaLeaseReply.safeParse(jsonOf(reply))
    if (parsed?.success !== true) throw new Error('the control plane granted no quota lease')
    return parsed.data
  }
}
