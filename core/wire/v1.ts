import * as z from 'zod'
import { ActionSpec } from '../action/spec.ts'
import { SubmittedSpec } from '../action/submitted-spec.ts'
import { ACTION_REQUEST_STATES } from '../state/action-request.ts'
import { ApprovalStatus, KillScope } from './gateway/internal.ts'
import { Environment, NewAgentName, Ok, Runtime } from './schema/fields.ts'
import { LIMITS } from './schema/limits.ts'

// Schemas of the v1 API for agents (spec 4.3). They ignore unknown fields of a request, and keep unknown fields of an
// action spec.

const WebhookUrl = z.url({ protocol: /^https?$/, error: 'must be an http or https URL' }).max(2_048)

export const SubmitBody = z.object({ action_spec: SubmittedSpec, webhook_url: WebhookUrl.optional() })
export const BatchBody = z.object({
  actions: z
    .array(z.object({ action_spec: SubmittedSpec }))
    .min(1)
    .max(LIMITS.batchMax),
})
export const DryRunBody = z.object({ action_spec: SubmittedSpec })
export const ExecuteBody = z.object({ decision_token: z.string().min(1).max(16_384) })
export const VerifyBody = z.object({
  decision_token: z.string().max(65_536),
  action_request_id: z.string().max(300),
})
/** Value of the header `Idempotency-Key`. */
export const IdempotencyKey = z.string().regex(/^[\x20-\x7e]{1,255}$/)
export const ActionParams = z.object({ actionRequestId: z.string().max(300) })
export const RegisterBody = z.object({
  name: NewAgentName,
  runtime: Runtime.min(1),
  environment: Environment,
})
const whole = (least: number) => z.coerce.number().pipe(z.int().min(least))
export const AuditQuery = z.object({
  limit: whole(1).pipe(z.number().max(LIMITS.listMax)).default(LIMITS.listDefault),
  offset: whole(0).default(0),
})
export const RespondParams = z.object({ approvalId: z.string().max(300) })
export const RespondBody = z.object({
  decision: z.enum(['approve', 'deny']),
  reason: z.string().max(2_000).optional(),
})
export const KillSwitchBody = z.object({
  active: z.boolean(),
  reason: z.string().max(2_000).optional(),
  /** Scope of the kill switch. If absent, the kill switch covers everything. */
  scope: KillScope.optional(),
})

const ActionStatus = z.enum(ACTION_REQUEST_STATES)
const Moment = z.string()

export const DecisionView = z.object({
  outcome: z.enum(['allow', 'deny', 'requires_approval']),
  reason: z.string(),
  matched_policies: z.array(z.string()),
  risk_score: z.number(),
  constraints: z.null(),
})
const DryRunDecision = DecisionView.extend({
  matched_rules: z.array(z.string()),
  risk_factors: z.array(z.string()),
  approver_groups: z.array(z.string()),
})
export const ApprovalView = z.object({
  id: z.string(),
  status: ApprovalStatus,
  required_approver_groups: z.array(z.string()),
  /** Approver groups that have answered. Present while some, but not all, required groups have answered. */
  answered_groups: z.array(z.string()).optional(),
  expires_at: Moment,
})
export const SubmitReply = z.object({
  action_request_id: z.string(),
  status: ActionStatus,
  decision: DecisionView,
  decision_token: z.string().nullable(),
  expires_at: Moment.optional(),
  approval: ApprovalView.optional(),
})
export const BatchReply = z.object({
  batch_id: z.string(),
  total: z.int(),
  results: z.array(
    SubmitReply.omit({ approval: true, expires_at: true }).extend({ expires_at: Moment.nullable() }),
  ),
})
export const DryRunReply = z.object({
  dry_run: z.literal(true),
  decision: DryRunDecision,
  trace: z.array(
    z.object({
      policy_id: z.string(),
      policy_name: z.string(),
      scope_matched: z.boolean(),
      rules: z.array(
        z.object({
          rule_name: z.string(),
          conditions_matched: z.boolean(),
          failed_condition: z.string().nullable(),
          decision: z.string().nullable(),
        }),
      ),
    }),
  ),
  policies_evaluated: z.int(),
  agent: z.object({ id: z.string(), environment: z.string() }),
})
export const StatusReply = z.object({
  action_request_id: z.string(),
  status: ActionStatus,
  action_spec: ActionSpec,
  decision: DecisionView,
  decision_token: z.string().nullable(),
  expires_at: Moment.nullable(),
  approval: ApprovalView.nullable(),
  created_at: Moment,
})
export const ExecuteReply = z.union([
  z.object({
    executed: z.literal(true),
    action_request_id: z.string(),
    gateway_response: z.object({ status: z.int(), result: z.unknown() }),
  }),
  /**
   * Reply for a request that the gateway holds. Nothing was sent upstream, and the decision token is valid again after
   * the approval.
   */
  z.object({
    executed: z.literal(false),
    action_request_id: z.string(),
    status: ActionStatus,
    decision: DecisionView,
    approval: ApprovalView,
  }),
])
export const CancelReply = z.object({ action_request_id: z.string(), status: z.literal('cancelled') })
export const RegisterReply = z.object({
  agent_id: z.string(),
  api_key: z.string(),
  api_key_prefix: z.string(),
})
export const PoliciesReply = z.object({
  policies: z.array(
    z.object({
      id: z.string(),
      name: z.string(),
      description: z.string(),
      enabled: z.boolean(),
      priority: z.int(),
      tags: z.array(z.string()),
      created_at: Moment,
    }),
  ),
})
export const AuditEventView = z.object({
  id: z.string(),
  event_type: z.string(),
  org_id: z.string(),
  agent_id: z.string().optional(),
  user_id: z.string().optional(),
  action_request_id: z.string().optional(),
  details: z.record(z.string(), z.unknown()),
  created_at: Moment,
})
export const AuditReply = z.object({
  events: z.array(AuditEventView),
  total: z.int(),
  limit: z.int(),
  offset: z.int(),
})
export const RespondReply = z.object({
  approval_id: z.string(),
  status: ApprovalStatus,
  decision_token: z.string().nullable(),
  /**
   * Approver groups that have answered. Present while the approval is pending because other groups must answer as
   * well.
   */
  answered_groups: z.array(z.string()).optional(),
})
export const KillSwitchReply = z.object({
  kill_switch: z.boolean(),
  /**
   * Not in the specification: warning about a scope that matches nothing, or about a kill switch that could not be
   * stored.
   */
  warning: z.string().optional(),
  nearest: z.array(z.string()).optional(),
})
export const VerifyReply = z.union([
  z.object({
    valid: z.literal(true),
    payload: z.object({ sub: z.string(), org: z.string(), act: z.string(), ash: z.string() }),
  }),
  z.object({ valid: z.literal(false), error: z.string() }),
])

/** Public keys of decision tokens (RFC 7517). */
export const JwksReply = z.object({ keys: z.array(z.record(z.string(), z.unknown())) })
export const RotateSigningKeyBody = z.strictObject({ action: z.literal('rotate') })
export const RotateSigningKeyReply = Ok.extend({ kid: z.string() })

export type DecisionView = z.infer<typeof DecisionView>
export type DryRunReply = z.infer<typeof DryRunReply>
export type SubmitReply = z.infer<typeof SubmitReply>
export type BatchReply = z.infer<typeof BatchReply>
export type ExecuteReply = z.infer<typeof ExecuteReply>
export type ActionParams = z.infer<typeof ActionParams>
export type StatusReply = z.infer<typeof StatusReply>
export type ApprovalView = z.infer<typeof ApprovalView>
export type VerifyReply = z.infer<typeof VerifyReply>
export type AuditEventView = z.infer<typeof AuditEventView>
