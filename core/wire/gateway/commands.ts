import * as z from 'zod'
import { RuleDecisionSchema } from '../../crd/fields.ts'
import { EnforcementLevelSchema } from '../../crd/gateway/gateway-fields.ts'
import { KillSwitchReply } from '../kill-switch.ts'
import { Ok } from '../schema/fields.ts'
import { ApprovalCard, ApprovalStatus } from './internal.ts'
import { StateOrder } from './kill.ts'

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
 * Body of a command that a client, such as the CLI of an agent, sends to the internal API of a gateway. The gateway
 * forwards the command to the control plane, which executes it, and returns the response `{status, body}` unchanged.
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

/** Agent in the replies of the internal API. */
export const CommandAgent = z.object({
  agent_id: z.string(),
  name: z.string(),
  runtime: z.string(),
  environment: z.string(),
  status: z.enum(['active', 'suspended', 'revoked']),
})
const ConnectorOfGateway = z.object({
  id: z.string(),
  type: z.string(),
  domains: z.array(z.string()),
  auth_type: z.string(),
  has_token: z.boolean(),
  source: z.string(),
})
const PermissionOfGateway = z.object({
  id: z.string(),
  gateway_name: z.string(),
  connector_type: z.string(),
  action_pattern: z.string(),
  decision: RuleDecisionSchema,
  agent: z.string(),
  reason: z.string().nullable(),
  source: z.string(),
  managed_by: z.string().nullable(),
})
const HeldRequests = z.object({ approvals: z.array(ApprovalCard) })

/** Body of the reply of each command with status 200. */
const REPLIES = {
  'connectors.add': Ok.extend({ id: z.string(), type: z.string(), domains: z.array(z.string()) }),
  'connectors.list': z.object({ connectors: z.array(ConnectorOfGateway) }),
  'connectors.remove': Ok,
  'permissions.set': Ok.extend({ id: z.string(), warnings: z.array(z.string()).optional() }),
  'permissions.list': z.object({ permissions: z.array(PermissionOfGateway) }),
  'approvals.pending': HeldRequests,
  'approvals.recent': HeldRequests,
  /** `answered_groups`: groups that have answered. Present while the approval waits for answers of further groups. */
  'approvals.respond': Ok.extend({
    id: z.string(),
    status: ApprovalStatus,
    answered_groups: z.array(z.string()).optional(),
  }),
  /** `order`: position of the stored kill switch in the order of kill states. */
  'kill-switch': KillSwitchReply.extend({ order: StateOrder.optional() }),
  'agents.register': Ok.extend({ agent: CommandAgent }),
  'agents.deregister': Ok.extend({ agent: CommandAgent }),
  enforcement: Ok.extend({ level: EnforcementLevelSchema, previous: EnforcementLevelSchema }),
} satisfies Record<CommandBody['command'], z.ZodType>

export type CommandReplies = { readonly [C in keyof typeof REPLIES]: z.infer<(typeof REPLIES)[C]> }
export type ForwardedKillSwitch = z.infer<typeof ForwardedKillSwitch>
export type CommandBody = z.infer<typeof CommandBody>
export type CommandReply = z.infer<typeof CommandReply>
