import * as z from 'zod'

/**
 * Returns an agent's quota lease to the control plane, and requests a new lease of `want` slots. `used`: the ages in
 * ms of the requests that were admitted since the last report. A lease lasts `QUOTA_LEASE_MS` from the time of its
 * request.
 */
export const QuotaLeaseBody = z.object({
  agent: z.string().min(1).max(300),
  per_minute: z.number().int().min(1).max(1_000_000),
  want: z.number().int().min(0).max(10),
  used: z.array(z.number().min(0)).max(10_000),
})
/**
 * Number of granted slots. `retry_after_ms`: time until the next slot is free, if no other process takes the slot; 0
 * if slots were granted.
 */
export const QuotaLeaseReply = z.object({ granted: z.number().int(), retry_after_ms: z.number() })
export const QUOTA_LEASE_MS = 10_000

export type QuotaLeaseBody = z.infer<typeof QuotaLeaseBody>
export type QuotaLeaseReply = z.infer<typeof QuotaLeaseReply>
