import * as z from 'zod'
import { EffectWord } from './effect-word.ts'
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
 * Rules that hold a request with one action. `source` is the source of the decision. If `source` is `permission` or
 * `default`, the permission or the default requires an approval in addition to the policies. `ref` is the reference
 * `pol_…@version` of a policy.
 */
export const HeldBy = z.object({
  /**
   * Hex SHA-256 of the facts that all requests of a grant have in common: the id of the Connector, the method, scheme,
   * host and port (with MCP the path, too), the header fields on the card (secret values included), the effect classes
   * and the environment. Absent on the card of an access request, which has no pending request.
   */
  common_sha256: z.string().length(64).optional(),
  /**
   * Hex SHA-256 of the Connector, the effect classes, the environment, and the header fields that select the account
   * (`ACCOUNT_HEADERS`).
   */
  account_sha256: z.string().length(64),
  source: z.string().max(64),
  permission: z.string().max(100).nullable(),
  policies: z
    .array(
      z.object({
        ref: z.string().max(300),
        rule: z.string().max(500),
        groups: z.array(z.string().max(300)).max(64),
        distinct: z.boolean(),
      }),
    )
    .max(1_000),
})

/**
 * Requests an approval. The control plane, which owns the state of approvals, adds the request to a pending approval
 * or creates one.
 */
export const HoldBody = z.object({
  /**
   * Identity of the approved request: hex SHA-256 over agent, connector, method, host, path, query, headers, body hash
   * and policy versions.
   */
  binding: z.string(),
  agent: z.string(),
  act_id: z.string(),
  /** Type of the connector. The name of the Connector object is in `connector_name`. */
  connector: z.string(),
  connector_name: z.string().optional(),
  /**
   * Types and names of further Connectors whose hosts the provider reaches for the request. A kill switch for one of
   * them covers the request.
   */
  reached_connectors: z.array(z.string()).max(512).optional(),
  action_type: z.string(),
  target: z.string().nullable(),
  /** Environment of the action, and its risk hints from the catalogue, for the audit log. */
  environment: z.string().max(300).nullish(),
  risk_hints: z.record(z.string(), z.boolean()).nullish(),
  method: z.string(),
  host: z.string(),
  path: z.string(),
  /** Header fields that the approval binds. Older gateways do not send them. */
  headers: z.array(HeaderField).max(4_096).default([]),
  parameters: z.record(z.string(), z.unknown()),
  risk_score: z.number(),
  risk_factors: z.array(z.string()),
  matched_rule: z.string().nullable(),
  required_approver_groups: z.array(z.string()),
  /** Required groups by policy. Older gateways do not send them; then all required groups form one set. */
  required_groups: z.array(RequiredGroupsView).max(1_000).optional(),
  requested_by_agent_text: z.string().nullable(),
  body_sha256: z.string().nullable(),
  /**
   * Hex SHA-256 of the whole request as received by the gateway (`fingerprintText`). Older gateways do not send it. The
   * control plane then never treats the held request as the execution of an action through `gateway_url`.
   */
  request_fingerprint: z.string().max(64).optional(),
  unread_body: UnreadBody.nullable().default(null),
  /** Effect classes on the approval card. Older gateways do not send them. */
  effects: EffectList.optional(),
  /** Effect of the action; absent if the request has several actions. Older gateways do not send it. */
  effect: EffectWord.optional(),
  /** States of the target that the approval binds. Older gateways do not send them. */
  pins: z.array(PinView).max(64).optional(),
  /**
   * Id of a group of requests in one process. All requests of the group need the same approval. Older gateways do not
   * send it.
   */
  asker: Asker.optional(),
  /** Rules that hold the request; absent if no grant can cover it. Older gateways do not send them. */
  held_by: HeldBy.optional(),
  /** True for an access request: the agent requests permission for an action, and no request is pending. */
  access_request: z.boolean().optional(),
})

export const HoldParams = z.object({ id: z.string().max(100) })

/** Reports that the client of the last request of the group `asker` disconnected. */
export const LeaveBody = z.object({ binding: z.string(), asker: Asker })

/**
 * Response to `HoldBody`. `created` and `joined`: the request waits for a new or an already pending approval.
 * `approved`: an approval within the retry window has not been used yet. `deferred`: the request executes a v1 action,
 * and the gateway refuses it now; after the approval, the decision token of the action is valid again, so that the
 * agent can repeat the execution. The status is 429 if too many approvals are pending.
 */
export const HoldReply = z.object({
  outcome: z.enum(['created', 'joined', 'approved', 'deferred']),
  approval: ApprovalCard,
})

/**
 * Uses an approval for one request. The database changes the approval in one conditional statement, which succeeds
 * exactly once per approval.
 */
export const SpendBody = z.object({ binding: z.string() })
export const SpendReply = z.object({ spent: z.boolean(), status: ApprovalStatus })

export type HeldBy = z.infer<typeof HeldBy>
export type HoldBody = z.infer<typeof HoldBody>
export type HoldReply = z.infer<typeof HoldReply>
export type SpendReply = z.infer<typeof SpendReply>
