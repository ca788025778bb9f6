import * as z from 'zod'
import {
  ApprovalCard,
  ApprovalStatus,
  EffectList,
  HeaderField,
  PinView,
  RequiredGroupsView,
  UnreadBody,
} from './internal.ts'

const Asker = z.string().min(1).max(64)

/**
 * Requests an approval. The control plane joins the request to a pending approval or creates one, and owns the state.
 */
export const HoldBody = z.object({
  /**
   * Identity of the approved request: hex SHA-256 over agent, connector, method, host, path, query, headers, body hash
   * and policy versions.
   */
  binding: z.string(),
  agent: z.string(),
  act_id: z.string(),
  /** Type of the connector (`connector`), and name of the Connector object. */
  connector: z.string(),
  connector_name: z.string().optional(),
  action_type: z.string(),
  target: z.string().nullable(),
  /** Environment and catalogue hints of the action, for the audit log. */
  environment: z.string().max(300).nullish(),
  risk_hints: z.record(z.string(), z.boolean()).nullish(),
  method: z.string(),
  host: z.string(),
  path: z.string(),
  /** Header fields that the approval is bound to. Older gateways do not send them. */
  headers: z.array(HeaderField).max(4_096).default([]),
  parameters: z.record(z.string(), z.unknown()),
  risk_score: z.number(),
  risk_factors: z.array(z.string()),
  matched_rule: z.string().nullable(),
  required_approver_groups: z.array(z.string()),
  /** Required groups by policy. Older gateways do not send them: then all required groups form one set. */
  required_groups: z.array(RequiredGroupsView).max(1_000).optional(),
  requested_by_agent_text: z.string().nullable(),
  body_sha256: z.string().nullable(),
  /**
   * Hex SHA-256 of the whole request as received by the gateway (`fingerprintText`). Older gateways do not send it, so
   * that their holds never belong to an execution through `gateway_url`.
   */
  request_fingerprint: z.string().max(64).optional(),
  unread_body: UnreadBody.nullable().default(null),
  /** Effect classes that the card shows. Older gateways do not send them. */
  effects: EffectList.optional(),
  /** States that the approval is bound to. Older gateways do not send them. */
  pins: z.array(PinView).max(64).optional(),
  /** Id of the group of requests in one process that wait for the same approval. Older gateways do not send it. */
  asker: Asker.optional(),
})

export const HoldParams = z.object({ id: z.string().max(100) })

/** Reports that the client of the last request in the group `asker` disconnected. */
export const LeaveBody = z.object({ binding: z.string(), asker: Asker })

/**
 * Answer to `HoldBody`. `outcome`: `created`, `joined` (already pending), `approved` (approved within the retry window
 * and not used yet), `deferred` (the request executes an action: the gateway refuses it now, and it is repeated once
 * the approval is answered). 429 if too many approvals are pending.
 */
export const HoldReply = z.object({
  outcome: z.enum(['created', 'joined', 'approved', 'deferred']),
  approval: ApprovalCard,
})

/**
 * Uses an approval for one request. The database does this in one conditional statement, which succeeds exactly once
 * per approval.
 */
export const SpendBody = z.object({ binding: z.string() })
export const SpendReply = z.object({ spent: z.boolean(), status: ApprovalStatus })

export type HoldBody = z.infer<typeof HoldBody>
export type HoldReply = z.infer<typeof HoldReply>
export type SpendReply = z.infer<typeof SpendReply>
