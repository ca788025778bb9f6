import * as z from 'zod'
import { PermissionPatternSchema } from '../crd/action-patterns.ts'
import { ConnectorType } from '../crd/connector-fields.ts'
import { RuleDecisionSchema } from '../crd/fields.ts'
import { NamedAction } from './connectors.ts'
import { ManagedFields } from './operator/origin.ts'
import { AgentName, GatewayRef, Id, Ok } from './schema/fields.ts'

export const PermissionView = z.object({
  id: z.string(),
  gateway_name: z.string(),
  /** Agents of the permission: `*`, the name of one agent, or a prefix of names with `*` at the end. */
  agent: z.string(),
  connector_type: z.string(),
  action_pattern: z.string(),
  decision: RuleDecisionSchema,
  reason: z.string().nullable(),
  ...ManagedFields,
  created_at: z.string(),
  warnings: z.array(z.string()),
})
export const PermissionsQuery = z.strictObject({ gateway: GatewayRef.optional() })
export const PermissionList = z.object({ permissions: z.array(PermissionView) })
export const SetPermissionBody = z.strictObject({
  gateway_name: GatewayRef,
  connector_type: ConnectorType,
  action_pattern: PermissionPatternSchema,
  decision: RuleDecisionSchema,
  agent: z.union([z.literal('*'), AgentName]).default('*'),
})
export const SetPermissionReply = Ok.extend({ id: z.string(), warnings: z.array(z.string()).optional() })
export const RemovePermissionQuery = z.strictObject({ permission_id: Id })

const Verdict = z.enum(['ALLOW', 'HOLD', 'DENY'])

export const EffectiveAction = NamedAction.extend({
  decision: Verdict,
  would: Verdict,
  reason: z.string(),
  /** Source of the decision, such as `permission`, `policy`, `default`, `agent` or `level`. */
  source: z.string(),
  permission: z.object({ id: z.string(), pattern: z.string() }).nullable(),
  rules: z.array(
    z.object({
      policyId: z.string(),
      policyName: z.string(),
      rule: z.string(),
      tier: z.literal('platform').optional(),
    }),
  ),
})

export const EffectiveQuery = z.strictObject({
  agent: AgentName.optional(),
  type: ConnectorType.default('codehost'),
})
export const EffectiveReply = z.object({
  agent: z.string().nullable(),
  /** Gateway of the agent; null if it has none, so that only policies decide about its actions. */
  gateway: z.string().nullable(),
  type: ConnectorType,
  /** Names of the Connectors on the agent's gateway whose type is `type`. */
  connectors: z.array(z.string()),
  /** Agents that the caller may select. */
  agents: z.array(z.object({ name: z.string(), status: z.string(), gateway: z.string().nullable() })),
  actions: z.array(EffectiveAction),
})

export type RuleDecision = z.infer<typeof RuleDecisionSchema>
export type PermissionView = z.infer<typeof PermissionView>
export type PermissionList = z.infer<typeof PermissionList>
export type SetPermissionBody = z.input<typeof SetPermissionBody>
export type SetPermissionReply = z.infer<typeof SetPermissionReply>
export type RemovePermissionQuery = z.input<typeof RemovePermissionQuery>
export type EffectiveAction = z.infer<typeof EffectiveAction>
export type EffectiveQuery = z.input<typeof EffectiveQuery>
export type EffectiveReply = z.infer<typeof EffectiveReply>
