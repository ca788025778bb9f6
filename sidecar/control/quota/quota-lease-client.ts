import { type QuotaLeaseBody, QuotaLeaseReply } from '../../../core/wire/gateway/quota-lease.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { type ControlClient, jsonOf } from '../client/client.ts'
import { postWithin } from '../client/post-within.ts'

/** Requests a lease of a quota that several processes share. Rejects when there is no reply within a second. */
export type AcquireQuotaLease = (request: QuotaLeaseBody) => Promise<QuotaLeaseReply>

/** Time limit of the call in milliseconds. The limit is short, because the call adds to the latency of a request. */
const TIMEOUT_MS = 1_000

export function createAcquireQuotaLease(client: () => ControlClient): AcquireQuotaLease {
  return async (request) => {
    const reply = await postWithin(client(), SYNC_PATHS.slots, request, TIMEOUT_MS)
    const parsed = reply === undefined ? undefined : QuotaLeaseReply.safeParse(jsonOf(reply))
    if (parsed?.success !== true)
      throw new Error(
        'the control plane gave this process no share of a limit that several gateway processes have in common',
      )
    return parsed.data
  }
}
