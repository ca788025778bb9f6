import { type QuotaLeaseBody, QuotaLeaseReply } from '../../../core/wire/gateway/quota-lease.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { sleep } from '../../process/sleep.ts'
import { type ControlClient, jsonOf } from '../client/client.ts'

/** Borrows from the budget that several processes share. Rejects when there is no answer within a second. */
export type AcquireQuotaLease = (asked: QuotaLeaseBody) => Promise<QuotaLeaseReply>

/** A request waits for this. */
const TIMEOUT_MS = 1_000

export function createAcquireQuotaLease(client: () => ControlClient): AcquireQuotaLease {
  return async (asked) => {
    const asking = client().post(SYNC_PATHS.slots, asked, TIMEOUT_MS)
    // The wait for a connection has another limit; whatever comes of it later counts at the control plane.
    asking.catch(() => undefined)
    const answered = new AbortController()
    const reply = await Promise.race([asking, sleep(TIMEOUT_MS, answered.signal)]).finally(() =>
      answered.abort(),
    )
    const parsed = reply === undefined ? undefined : QuotaLeaseReply.safeParse(jsonOf(reply))
    if (parsed?.success !== true) throw new Error('the control plane lends no slots')
    return parsed.data
  }
}
