import * as z from 'zod'
import { PermissionPatternSchema } from '../../crd/action-patterns.ts'
import { ConnectorType } from '../../crd/connector-fields.ts'
import { RuleDecisionSchema } from '../../crd/fields.ts'
import { EnforcementLevelSchema } from '../../crd/gateway/gateway-fields.ts'
import { isKillScope, KILL_SCOPE_FORMS } from '../../decision/kill-switch/kill-switch.ts'
import { openEnum } from '../schema/open-enum.ts'
import { EffectWord } from './effect-word.ts'
import { Instance } from './instance.ts'

/** Status of an approval in the gateway's internal API (spec 4.2). */
export const ApprovalStatus = z.enum(['pending', 'approved', 'denied', 'expired', 'cancelled'])

/**
 * Approver groups that one policy requires. One member of any of the groups can answer. If `groups` is empty, any
 * approver can.
 */
export const RequiredGroupsView = z.object({
  policy: z.string().max(500),
  groups: z.array(z.string().max(300)).max(64),
  /**
   * True if one approver counts for only one set of groups. If `distinct` is true in one set of a request, it applies
   * to all sets of the request.
   */
  distinct: z.boolean(),
})

export const ApproverAnswer = z.object({
  by: z.string(),
  approved: z.boolean(),
  /** Required groups for which the approver answered. */
  groups: z.array(z.string()),
  via: z.string(),
  note: z.string().nullable(),
  at: z.string(),
})

/** Header field as forwarded upstream. All fields of a request together fit into a header block. */
export const HeaderField = z.object({ name: z.string().max(16_384), value: z.string().max(16_384) })

/**
 * Body that the gateway could not read. `description` is a sentence. `excerpt` is the beginning of the body, if the
 * approval card must show it.
 */
export const UnreadBody = z.object({
  description: z.string().max(2_000),
  excerpt: z.string().max(8_192).nullable(),
})

/**
 * State of the target when the approval card was created. `fixed_by` states the reason why the state cannot change
 * before the execution. `gateway`: the gateway compares the state again immediately before it sends the request.
 * `request`: the request contains the state, and the provider refuses any other. Null: the state may change after the
 * answer.
 */
export const PinView = z.object({
  action_type: z.string().max(500),
  /** Kind of the state, such as `head commit`. */
  state: z.string().max(200),
  value: z.string().max(500).nullable(),
  fixed_by: openEnum(['gateway', 'request']).nullable(),
})

/** Effect classes of a request, including `unknown` if the classes of an action are unknown. */
export const EffectList = z.array(z.string().max(32)).max(16)

export const ApprovalCard = z.object({
  id: z.string(),
  kind: z.enum(['action', 'hold']),
  status: ApprovalStatus,
  agent: z.string(),
  action_type: z.string(),
  target: z.string().nullable(),
  method: z.string().nullable(),
  host: z.string().nullable(),
  path: z.string().nullable(),
  /** Forwarded header fields that the approval binds. The documentation lists the fields that approvals ignore. */
  headers: z.array(HeaderField).default([]),
  parameters: z.record(z.string(), z.unknown()),
  risk_score: z.number(),
  risk_factors: z.array(z.string()),
  matched_rule: z.string().nullable(),
  required_approver_groups: z.array(z.string()),
  /** Sets of required groups. Each set needs an answer; `answered_by` is null until the set has one. */
  required_groups: z.array(RequiredGroupsView.extend({ answered_by: z.string().nullable() })).default([]),
  answered_groups: z.array(z.string()).default([]),
  /** Answers of approvers, oldest first. */
  answers: z.array(ApproverAnswer).default([]),
  requested_by_agent_text: z.string().nullable(),
  body_sha256: z.string().nullable(),
  unread_body: UnreadBody.nullable().default(null),
  /** Effect classes of the request. Absent on cards of older versions. */
  effects: EffectList.optional(),
  /** Effect of the action. Absent if the request has several actions, and on cards of older versions. */
  effect: EffectWord.optional(),
  /** Instance of the agent when the hold was opened. Absent for a request from outside of a pod. */
  instance: Instance.optional(),
  /** States of the target that the approval binds. Absent or empty if the approval binds none. */
  pins: z.array(PinView).max(64).optional(),
  created_at: z.string(),
  expires_at: z.string(),
  responded_by: z.string().nullable(),
  /** Interface through which the answer came. With `internal`, the identity in `responded_by` is not verified. */
  responded_via: z.string().nullable().optional(),
  note: z.string().nullable(),
  /** Time at which the agent's last client disconnected; null while a request of the agent is pending. */
  left_at: z.string().nullable().optional(),
  /** Summary of the action in one sentence of untrusted text; null for an action without a summary. */
  summary: z.string().nullable().optional(),
  /** Page of the action's object at the provider; null if unknown. */
  object_url: z.string().nullable().optional(),
  /** True for an access request of an agent: no request is pending, and an approval alone sends nothing. */
  access_request: z.boolean().optional(),
  /**
   * Time until which the approval can be withdrawn if it has not been used before. Null or absent if it cannot be
   * withdrawn.
   */
  withdrawable_until: z.string().nullable().optional(),
  /**
   * States whether a grant for later requests like this one is possible, and for which parameters. Absent on older
   * cards.
   */
  grant: z
    .object({
      /** Reason why no grant is possible, as a sentence; null if a grant is possible. */
      obstacle: z.string().nullable(),
      /** Names of the parameters that a grant can compare. */
      parameters: z.array(z.string()),
    })
    .optional(),
})

const name = z.string().min(1).max(253)

export const ConnectorAdd = z.strictObject({
  type: ConnectorType,
  token: z.string().min(1).max(65_536),
  domains: z.array(z.string().min(1).max(253)).max(64).optional(),
  auth_type: z.enum(['bearer', 'token', 'basic', 'header', 'none']).optional(),
  header: z.string().min(1).max(64).optional(),
  base_url: z.url().optional(),
  /**
   * Not in the specification: true if the upstream may have a private or loopback address, for example a self-hosted
   * server.
   */
  allow_private_addresses: z.boolean().optional(),
  /** Not in the specification: true if the credential may be sent to a plain http upstream. */
  allow_plaintext_credential: z.boolean().optional(),
  /** Not in the specification: paths that accept JSON-RPC, for the type `mcp`. */
  endpoint: z.array(z.string().min(1).max(500)).min(1).max(16).optional(),
  /**
   * Not in the specification. With `opaque`, the gateway can hold requests whose bodies it cannot read. The approval
   * card then states that the body was not read.
   */
  bodies: z.enum(['opaque']).optional(),
})
export const ConnectorRemove = z.strictObject({ id: name })
export const PermissionSet = z.strictObject({
  gateway_name: name,
  connector_type: ConnectorType,
  action_pattern: PermissionPatternSchema,
  decision: RuleDecisionSchema,
  agent: name.optional(),
})
export const ApprovalRespond = z.strictObject({
  id: name,
  approved: z.boolean(),
  by: z.string().min(1).max(320),
  note: z.string().max(2_000).optional(),
})
/**
 * Scope of a kill switch: `all`, `KIND:X` with the kind connector, agent, gateway, namespace, claim or pod, or a bare
 * name.
 */
export const KillScope = z.string().max(300).refine(isKillScope, KILL_SCOPE_FORMS)
export const KillSwitchSet = z.strictObject({
  active: z.boolean(),
  reason: z.string().max(1_000).optional(),
  scope: KillScope.optional(),
})
export const AgentRegister = z.strictObject({
  name,
  agent_id: name.optional(),
  api_key: z.string().min(1).max(256).optional(),
})
export const AgentDeregister = z.strictObject({ name })
export const EnforcementSet = z.strictObject({
  level: EnforcementLevelSchema,
  reason: z.string().max(1_000).optional(),
})

export type ApprovalStatus = z.infer<typeof ApprovalStatus>
export type RequiredGroupsView = z.infer<typeof RequiredGroupsView>
export type ApproverAnswer = z.infer<typeof ApproverAnswer>
export type PinView = z.infer<typeof PinView>
export type UnreadBody = z.infer<typeof UnreadBody>
export type HeaderField = z.infer<typeof HeaderField>
export type ApprovalCard = z.infer<typeof ApprovalCard>
export type ConnectorAdd = z.infer<typeof ConnectorAdd>
export type PermissionSet = z.infer<typeof PermissionSet>
export type ApprovalRespond = z.infer<typeof ApprovalRespond>
export type KillSwitchSet = z.infer<typeof KillSwitchSet>
export type AgentRegister = z.infer<typeof AgentRegister>
export type EnforcementSet = z.infer<typeof EnforcementSet>
