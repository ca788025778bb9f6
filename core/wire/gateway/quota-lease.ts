import * as z from 'zod'

/**
 * Returns the quota lease of an agent to the control plane and requests another one of `want` slots. `used`: ages in ms
 * of the requests that were admitted since the last report. The lease lasts `QUOTA_LEASE_MS` from the request.
 */
export const QuotaLeaseBody = z.object({
  agent: z.string().min(1).max(300),
  per_minute: z.number().int().min(1).max(1_000_000),
  want: z.number().int().min(0).max(10),
  used: z.array(z.number().min(0)).max(10_000),
})
/**
 * Granted slots. `retry_after_ms`: time until a slot is free, unless other processes take it; 0 if some were granted.
 */
export const QuotaLeaseReply = z.object({ granted: z.number().int(), retry_after_ms: z.number() })
export const QUOTA_LEASE_MS = 10_000

export type QuotaLeaseBody = z.infer<typeof QuotaLeaseBody>
export type QuotaLeaseReply = z.infer<typeof QuotaLeaseReply>
