import * as z from 'zod'

/** The gateway's own number of a stop that it sets or lifts: set twice it is one stop, and lifted it is not set again. */
export const ForwardedKillSwitch = z.object({
  id: z.uuid(),
  /** Of a repeated attempt: milliseconds since the stop was set. The control plane may have had and lifted it. */
  retried_after_ms: z.number().int().min(0).optional(),
})

/**
 * What the internal API of a gateway asks its control plane to do on its behalf (spec 4.2). The reply is
 * `{status, body}`: the gateway answers exactly that.
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
