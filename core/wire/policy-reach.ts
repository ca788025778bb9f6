import * as z from 'zod'

/**
 * Policies are weighed tier by tier, each by its priorities, and the strictest result stands: `platform` from a namespace
 * of the platform team, whose `allow` allows nothing; `installation` from a folder, the API or built in; `gateway` from the
 * Gateway's own namespace; `guest` from another one, for agents of its own.
 */
export const POLICY_TIERS = ['platform', 'installation', 'gateway', 'guest'] as const
export type PolicyTier = (typeof POLICY_TIERS)[number]

/** What a policy covers beside the scope of its document. */
export const POLICY_REACH = {
  /** Why its text was never in force: everything in its scope is denied. Left out: its rules decide. */
  invalid: z.string().optional(),
  /** It speaks for agents of this namespace only. Left out: for all agents. */
  agentsOf: z.string().optional(),
  /** Whose rule it is, where that counts; see `POLICY_TIERS`. Left out: of the installation. */
  tier: z.enum(['platform', 'gateway', 'guest']).optional(),
  /** Its `allow` counts as no opinion, and nothing that it says takes the place of what other policies say. */
  tightensOnly: z.boolean().optional(),
}
