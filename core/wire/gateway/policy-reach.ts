import * as z from 'zod'

/**
 * Policies are evaluated tier by tier, each by priority, and the strictest result applies: `platform` from a namespace
 * of the platform team, whose `allow` allows nothing; `installation` from a folder, the API or built in; `gateway` from
 * the Gateway's own namespace; `guest` from another one, for its own agents.
 */
export const POLICY_TIERS = ['platform', 'installation', 'gateway', 'guest'] as const
export type PolicyTier = (typeof POLICY_TIERS)[number]

/** Coverage of a policy in addition to the scope of its document. */
export const POLICY_REACH = {
  /** Reason why its text was never in force: everything in its scope is denied. Absent: its rules apply. */
  invalid: z.string().optional(),
  /** Applies to agents of this namespace only. Absent: to all agents. */
  agentsOf: z.string().optional(),
  /** Owner of the rule, if relevant; see `POLICY_TIERS`. Absent: the installation. */
  tier: z.enum(['platform', 'gateway', 'guest']).optional(),
  /** Its `allow` counts as no match, and its results never replace those of other policies. */
  tightensOnly: z.boolean().optional(),
}
