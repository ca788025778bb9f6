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

/** Requests an approval. The control plane joins, coalesces or creates it, and owns the state. */
export const HoldBody = z.object({
  /** Hex SHA-256 over agent, connector, method, host, path, query, headers, body hash and policy versions. */
  binding: z.string(),
  agent: z.string(),
  act_id: z.string(),
  /** The type of the connector, and the name of its record. */
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
  /** Absent from older gateways. */
  headers: z.array(HeaderField).max(4_096).default([]),
  parameters: z.record(z.string(), z.unknown()),
  risk_score: z.number(),
  risk_factors: z.array(z.string()),
  matched_rule: z.string().nullable(),
  required_approver_groups: z.array(z.string()),
  /** The same groups by policy. Absent from older gateways: then they form one set. */
  required_groups: z.array(RequiredGroupsView).max(1_000).optional(),
  requested_by_agent_text: z.string().nullable(),
  body_sha256: z.string().nullable(),
  /**
   * Hex SHA-256 of the whole request as received by the gateway (`fingerprintText`). Absent from older gateways: their
   * holds never belong to an execution through `gateway_url`.
   */
  request_fingerprint: z.string().max(64).optional(),
  unread_body: UnreadBody.nullable().default(null),
  /** As on the card; absent from older gateways. */
  effects: EffectList.optional(),
  /** Absent from older gateways. */
  pins: z.array(PinView).max(64).optional(),
  /** Identifies the group of requests of one process that share the hold; absent from older gateways. */
  asker: Asker.optional(),
})

/** Sent when the client of the last request of the group `asker` disconnected. */
export const LeaveBody = z.object({ binding: z.string(), asker: Asker })

/**
 * `outcome`: `created`, `joined` (already pending), `approved` (approved within the retry window, unspent), `deferred`
 * (the request executes an action: refuse it now; it is repeated once the approval is answered). 429 if there are too
 * many.
 */
export const HoldReply = z.object({
  outcome: z.enum(['created', 'joined', 'approved', 'deferred']),
  approval: ApprovalCard,
})

/** One conditional statement in the database: true exactly once per approval. */
export const SpendBody = z.object({ binding: z.string() })
export const SpendReply = z.object({ spent: z.boolean(), status: ApprovalStatus })

export type HoldBody = z.infer<typeof HoldBody>
export type HoldReply = z.infer<typeof HoldReply>
export type SpendReply = z.infer<typeof SpendReply>
