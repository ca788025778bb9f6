import * as z from 'zod'

/** What a policy covers beside the scope of its document. */
export const POLICY_REACH = {
  /** Why its text was never in force: everything in its scope is denied. Left out: its rules decide. */
  invalid: z.string().optional(),
  /** It speaks for agents of this namespace only. Left out: for all agents. */
  agentsOf: z.string().optional(),
  /** Its `allow` counts as no opinion, and nothing that it says takes the place of what other policies say. */
  tightensOnly: z.boolean().optional(),
}
