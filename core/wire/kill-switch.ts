import * as z from 'zod'
import type { KillSwitchSet } from './gateway/internal.ts'
import { KillEntry } from './gateway/kill.ts'
import { HostedWorkState } from './hosted-work.ts'

/** Active scopes. `stored: false`: active on connected gateways, not stored yet. */
export const KillSwitchState = z.object({
  effective: z.array(KillEntry.extend({ stored: z.literal(false).optional() })),
  /** Work that is cancelled at providers so far; absent if no gateway is connected. */
  hosted_work: HostedWorkState.optional(),
})
export const KillSwitchReply = KillSwitchState.extend({
  ok: z.literal(true),
  active: z.boolean(),
  scope: z.string(),
  /** Gateway processes that have acknowledged, of those connected, and the time in milliseconds. */
  acknowledged: z.object({ acked: z.number(), total: z.number(), ms: z.number() }),
  /** `false`: active on connected gateways, not stored yet. */
  stored: z.literal(false).optional(),
  warning: z.string().optional(),
  /** Of a deactivation: the sources that had activated the scope. */
  released: z.array(z.string()).optional(),
  /** Existing scopes with similar names, if the scope matches nothing. */
  nearest: z.array(z.string()).optional(),
})

export type KillSwitchState = z.infer<typeof KillSwitchState>
export type KillSwitchReply = z.infer<typeof KillSwitchReply>
export type KillSwitchBody = z.input<typeof KillSwitchSet>
