import * as z from 'zod'

/**
 * Kill switch that a gateway forwards to the control plane. The gateway creates `id`, so that the control plane
 * recognizes a repeated request: a repeated activation does not activate a deactivated kill switch again.
 */
export const ForwardedKillSwitch = z.object({
  id: z.uuid(),
  /**
   * Time since the activation in ms. Present only in a repeated attempt, because the control plane may already have
   * stored and deactivated the kill switch.
   */
  retried_after_ms: z.number().int().min(0).optional(),
})

/**
 * Command that a gateway receives over its internal API and that the control plane executes (spec 4.2). The gateway
 * returns the response `{status, body}` unchanged.
 */
export const CommandBody = z.discriminatedUnion('command', [
  z.object({ command: z.literal('connectors.add'), input: z.unknown() }),
  z.object({ command: z.literal('connectors.list') }),
  z.object({ command: z.literal('connectors.remove'), input: z.unknown() }),
  z.object({ command: z.literal('permissions.set'), input: z.unknown() }),
  z.object({ command: z.literal('permissions.list') }),
  z.object({ command: z.literal('approvals.pending') }),
  z.object({ command: z.literal('approvals.recent') }),
  z.object({ command: z.literal('approvals.respond'), input: z.unknown() }),
  z.object({ command: z.literal('kill-switch'), input: z.unknown(), stop: ForwardedKillSwitch.optional() }),
  z.object({ command: z.literal('agents.register'), input: z.unknown() }),
  z.object({ command: z.literal('agents.deregister'), input: z.unknown() }),
  z.object({ command: z.literal('enforcement'), input: z.unknown() }),
])
export const CommandReply = z.object({ status: z.number().int(), body: z.record(z.string(), z.unknown()) })

export type ForwardedKillSwitch = z.infer<typeof ForwardedKillSwitch>
export type CommandBody = z.infer<typeof CommandBody>
export type CommandReply = z.infer<typeof CommandReply>
