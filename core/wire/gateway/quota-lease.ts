import * as z from 'zod'

/**
 * Gives back what the process was lent for this agent, tells what it admitted since it last told (`used`: ages in ms)
 * and asks for `want` slots. The loan is good for `QUOTA_LEASE_MS`, counted from when it was asked for.
 */
export const QuotaLeaseBody = z.object({
  agent: z.string().min(1).max(300),
  per_minute: z.number().int().min(1).max(1_000_000),
  want: z.number().int().min(0).max(10),
  used: z.array(z.number().min(0)).max(10_000),
})
/** `retry_after_ms`: when one is free, unless others take it; 0 when some were granted. */
export const QuotaLeaseReply = z.object({ granted: z.number().int(), retry_after_ms: z.number() })
export const QUOTA_LEASE_MS = 10_000

export type QuotaLeaseBody = z.infer<typeof QuotaLeaseBody>
export type QuotaLeaseReply = z.infer<typeof QuotaLeaseReply>
