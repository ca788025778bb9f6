import * as z from 'zod'
import { HostedWorkState } from './gateway/hosted-work.ts'
import type { KillSwitchSet } from './gateway/internal.ts'
import { KillEntry } from './gateway/kill.ts'

/**
 * Active kill switches. `stored: false` marks a kill switch that is in force on connected gateways, but not stored
 * yet.
 */
export const KillSwitchState = z.object({
  effective: z.array(KillEntry.extend({ stored: z.literal(false).optional() })),
  /** Results of cancelling work at providers; absent if no gateway is connected. */
  hosted_work: HostedWorkState.optional(),
})
export const KillSwitchReply = KillSwitchState.extend({
  ok: z.literal(true),
  active: z.boolean(),
  scope: z.string(),
  /** Acknowledgements of the change: `acked` of `total` connected gateway processes, within `ms` milliseconds. */
  acknowledged: z.object({ acked: z.number(), total: z.number(), ms: z.number() }),
  /** Set to false if the change is in force on connected gateways, but not stored yet. */
  stored: z.literal(false).optional(),
  warning: z.string().optional(),
  /** Sources whose kill switches the deactivation removed. */
  released: z.array(z.string()).optional(),
  /** Existing names that resemble the scope. Present if the scope matches nothing. */
  nearest: z.array(z.string()).optional(),
})

export type KillSwitchState = z.infer<typeof KillSwitchState>
export type KillSwitchReply = z.infer<typeof KillSwitchReply>
export type KillSwitchBody = z.input<typeof KillSwitchSet>
