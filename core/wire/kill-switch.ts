import * as z from 'zod'
import { HostedWorkState } from './gateway/hosted-work.ts'
import type { KillSwitchSet } from './gateway/internal.ts'
import { KillEntry } from './gateway/kill.ts'

/** Active kill switches. `stored: false`: in force on connected gateways and not stored yet. */
export const KillSwitchState = z.object({
  effective: z.array(KillEntry.extend({ stored: z.literal(false).optional() })),
  /** Results of cancelling work at providers; absent if no gateway is connected. */
  hosted_work: HostedWorkState.optional(),
})
export const KillSwitchReply = KillSwitchState.extend({
  ok: z.literal(true),
  active: z.boolean(),
  scope: z.string(),
  /** `acked` of `total` connected gateway processes have acknowledged the change, within `ms` milliseconds. */
  acknowledged: z.object({ acked: z.number(), total: z.number(), ms: z.number() }),
  /** `false`: the change is in force on connected gateways and not stored yet. */
  stored: z.literal(false).optional(),
  warning: z.string().optional(),
  /** Sources whose kill switches a deactivation lifted. */
  released: z.array(z.string()).optional(),
  /** Existing names that resemble the scope, if it matches no subject. */
  nearest: z.array(z.string()).optional(),
})

export type KillSwitchState = z.infer<typeof KillSwitchState>
export type KillSwitchReply = z.infer<typeof KillSwitchReply>
export type KillSwitchBody = z.input<typeof KillSwitchSet>
