import * as z from 'zod'

/**
 * Result of a check. `unreachable`: the address did not answer. `unavailable`: the answer was an error, or no gateway
 * is connected.
 */
const Check = z.object({
  status: z.enum(['ok', 'error']),
  latencyMs: z.number(),
  error: z.enum(['Timeout', 'unreachable', 'unavailable']).optional(),
})
export const HealthReply = z.object({
  status: z.enum(['healthy', 'degraded']),
  timestamp: z.string(),
  checks: z.object({ database: Check, gateway: Check }),
})

export const LivenessReply = z.object({ status: z.literal('ok') })
export const ReadinessReply = z.object({ status: z.enum(['ok', 'not_ready']) })
export const NotReadyReply = z.object({ status: z.literal('not_ready') })

/**
 * Number of database rows that one part of the cleanup deleted; -1 if the part failed. A failed part does not prevent
 * the other parts.
 */
const Count = z.int().min(-1)
export const CleanupReply = z.object({
  status: z.enum(['ok', 'partial']),
  timestamp: z.string(),
  cleaned: z.object({
    expired_nonces: Count,
    expired_sessions: Count,
    used_nonces_cleaned: Count,
    old_audit_events: Count,
  }),
  also_cleaned: z.object({
    old_traffic: Count,
    /**
     * Number of unsent records that were deleted because no replica has their destination in its configuration any
     * more.
     */
    ended_exports: Count,
    idempotency_keys: Count,
    invitations: Count,
    old_actions: Count,
    old_approvals: Count,
    ended_grants: Count,
    stale_orders: Count,
    rate_slots: Count,
    provider_handles: Count,
    lost_records: Count,
    ended_agents: Count,
  }),
})

/** OpenAPI 3.1 document of the API. */
export const OpenApiReply = z.looseObject({ openapi: z.string() })

export type OpenApiReply = z.infer<typeof OpenApiReply>
export type Check = z.infer<typeof Check>
export type HealthReply = z.infer<typeof HealthReply>
export type CleanupReply = z.infer<typeof CleanupReply>
