import * as z from 'zod'
import { Id } from './schema/fields.ts'

/** Time to the expiry of a grant. `today` ends at midnight UTC. */
export const GRANT_DURATIONS = ['15m', '1h', 'today'] as const

/** Maximum number of requests that one grant approves. */
export const MAX_GRANT_USES = 100

/** Risk score from 0 to 1. Requests with this score or a higher one get no grant, and no grant releases them. */
export const GRANT_RISK_LIMIT = 0.8

/**
 * Grant that an approving answer makes. The grant approves later requests of the same agent with the same action.
 * `target`: `same` requires the target of the answered request. `parameters`: names of parameters whose values must
 * equal those of the answered request; other parameters may have any value. If the list names all parameters that the
 * card can compare, later requests must have no other parameters, body fields or query.
 */
export const GrantBody = z.strictObject({
  duration: z.enum(GRANT_DURATIONS),
  max_uses: z.int().min(1).max(MAX_GRANT_USES).default(10),
  target: z.enum(['same', 'any']).default('same'),
  parameters: z.array(z.string().min(1).max(300)).max(64).default([]),
})

export const GrantView = z.object({
  id: z.string(),
  /** Approval whose answer made the grant. */
  approval_id: z.string(),
  gateway_name: z.string(),
  agent: z.string(),
  action_type: z.string(),
  connector_name: z.string().nullable(),
  /**
   * Target that requests must have. If it is null, requests may have any target with `any_target: true`, and must have
   * no target with `any_target: false`.
   */
  target: z.string().nullable(),
  any_target: z.boolean(),
  /** Values that requests must have. */
  parameters: z.record(z.string(), z.unknown()),
  /** True if requests must have no other parameters, body fields and query. */
  exact: z.boolean(),
  /** Rules whose holds the grant releases. */
  rules: z.array(z.string()),
  max_uses: z.number(),
  uses: z.number(),
  created_by: z.string(),
  created_at: z.string(),
  expires_at: z.string(),
  revoked_at: z.string().nullable(),
  revoked_by: z.string().nullable(),
  /** `spent`: no uses are left. `ended`: a user who gave the approving answer lost the right to give it. */
  status: z.enum(['active', 'expired', 'spent', 'revoked', 'ended']),
})

export const GrantList = z.object({ grants: z.array(GrantView) })
export const RevokeGrantQuery = z.strictObject({ grant_id: Id })

export type GrantBody = z.input<typeof GrantBody>
export type GrantRequest = z.output<typeof GrantBody>
export type RevokeGrantQuery = z.input<typeof RevokeGrantQuery>
export type GrantView = z.infer<typeof GrantView>
export type GrantList = z.infer<typeof GrantList>
