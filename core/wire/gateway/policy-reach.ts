import * as z from 'zod'

/**
 * Origins of policies. The policies of each tier are evaluated by priority, and the strictest result of all tiers
 * applies. `platform`: from a namespace of the platform team; an `allow` of these allows nothing. `installation`: from
 * a folder or the API, or built in. `gateway`: from the Gateway's own namespace. `guest`: from another namespace, for
 * its own agents.
 */
export const POLICY_TIERS = ['platform', 'installation', 'gateway', 'guest'] as const
export type PolicyTier = (typeof POLICY_TIERS)[number]

/** What a policy covers in addition to the scope of its document. */
export const POLICY_REACH = {
  /**
   * Reason why the policy's text was never in force, so that everything in its scope is denied. Absent: its rules
   * apply.
   */
  invalid: z.string().optional(),
  /** Namespace whose agents the policy covers. Absent: all agents. */
  agentsOf: z.string().optional(),
  /** Origin of the policy (see `POLICY_TIERS`). Absent: `installation`. */
  tier: z.enum(['platform', 'gateway', 'guest']).optional(),
  /** True: an `allow` of the policy counts as no match, and its results never replace those of other policies. */
  tightensOnly: z.boolean().optional(),
}
