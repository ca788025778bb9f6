import * as z from 'zod'

/**
 * Tiers of policies, by where a policy comes from. The policies of one tier are evaluated by priority, and the
 * strictest result of all tiers applies. `platform`: from a namespace of the platform team; an `allow` of these
 * policies has no effect. `installation`: from a manifests folder or the API, or built in. `gateway`: from the
 * Gateway's own namespace. `guest`: from another namespace, and only for the agents of that namespace.
 */
export const POLICY_TIERS = ['platform', 'installation', 'gateway', 'guest'] as const
export type PolicyTier = (typeof POLICY_TIERS)[number]

/** Fields that extend or restrict a policy beyond the scope in its document. */
export const POLICY_REACH = {
  /**
   * Reason why the text of the policy was never in force, so that everything in its scope is denied. Absent if the
   * rules of the text apply.
   */
  invalid: z.string().optional(),
  /** Namespace whose agents the policy covers; absent for all agents. */
  agentsOf: z.string().optional(),
  /** Tier of the policy (see `POLICY_TIERS`); absent for `installation`. */
  tier: z.enum(['platform', 'gateway', 'guest']).optional(),
  /**
   * True if the policy can only tighten: its `allow` counts as no match, and its results never replace those of
   * other policies.
   */
  tightensOnly: z.boolean().optional(),
}
