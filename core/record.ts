import * as z from 'zod'
import { GivenHandle, HandleOwnerSchema } from './wire/gateway/handles.ts'

/**
 * Reason of a decision other than a plain allow: its source, the sentence, the matching rules, the risk. Records store
 * it, because rules change and questions arise weeks later.
 */
export const RecordWhySchema = z.object({
  source: z.enum([
    'kill',
    'agent',
    'permission',
    'policy',
    'policy_invalid',
    'default',
    'level',
    'connector',
  ]),
  reason: z.string(),
  /** Pattern of the permission that decided; null if none matched. */
  pattern: z.string().nullable(),
  rules: z.array(z.object({ policy: z.string(), rule: z.string() })),
  risk_score: z.number(),
  risk_factors: z.array(z.string()),
  approver_groups: z.array(z.string()),
})

export type RecordWhy = z.infer<typeof RecordWhySchema>

/**
 * Additional details for the audit events of a refused or held request (spec 6.1). Records of allowed traffic have
 * none, and the traffic log stores none.
 */
const RecordAuditSchema = z.object({
  /** Details of `action.requested` without the action type. */
  requested: z.record(z.string(), z.unknown()),
  /** Reason that the agent's response states. */
  reason: z.string(),
  matched_policy: z.string().nullable(),
  matched_rule: z.string().nullable(),
  /** An integer from 0 to 100; null for an unknown action. */
  risk_score: z.int().min(0).max(100).nullable(),
})

export type RecordAudit = z.infer<typeof RecordAuditSchema>

/** Counts of a row that stands for many refusals of one agent. */
export const RefusalsSchema = z.object({
  count: z.int().min(1).max(1_000_000_000),
  /** Times of the first and last refusal, ISO 8601 UTC. */
  first: z.iso.datetime(),
  last: z.iso.datetime(),
  distinct_targets: z.int().min(0),
  /** True if there were more distinct targets than the gateway tracks. */
  more_targets: z.boolean(),
  /** First distinct targets, at most 32. */
  targets: z.array(z.string().max(400)).max(32),
  /** Number of refusals by reason. */
  reasons: z.record(z.string().max(100), z.int().min(1)),
  /**
   * Number of refusals by action type, for a limited number of types; `mcp.*` and `*` for all others. Absent from rows
   * of earlier versions.
   */
  actions: z.record(z.string().max(400), z.int().min(1)).optional(),
})

/**
 * The one record of a governed request: in the journal, in uploads, in `/internal/traffic` and in
 * `/api/dashboard/traffic`. Paths are stored without credentials; bodies are never stored.
 */
export const RecordSchema = z.object({
  id: z.string().max(100),
  process_id: z.string().max(128),
  /** Increases by one per record of a process: a gap is a lost record. */
  seq: z.number().int().nonnegative(),
  /** Time at which the gateway accepted the request, ISO 8601 UTC. */
  time: z.iso.datetime(),
  gateway: z.string().max(300),
  agent: z.string().max(300).nullable(),
  connector: z.string().max(300).nullable(),
  /**
   * Action that represents the request: the riskiest of several actions, or the candidate with the strictest decision.
   */
  action_type: z.string().nullable(),
  /** All candidates of a request whose action stayed undetermined; absent otherwise. */
  candidates: z.array(z.string()).nullish(),
  /** Distinct action names of a request with several actions, in order; absent otherwise. */
  actions: z.array(z.string()).max(64).nullish(),
  /** Number of actions of the request; absent for a single one. */
  action_count: z.int().min(2).nullish(),
  /**
   * Effect classes of the request's actions, with `unknown` if those of one action are not known. Absent if there are
   * none.
   */
  effects: z.array(z.string().max(32)).max(16).nullish(),
  decision: z.enum(['ALLOW', 'HOLD', 'DENY']),
  /** Verdict of full enforcement, if it differs from `decision`. */
  would: z.enum(['ALLOW', 'HOLD', 'DENY']).nullable(),
  /**
   * Short remark: `approved`, `executed` (an order by token), `would deny`, `would hold`, `unknown` (crashed between
   * intent and result), …
   */
  note: z.string().nullable(),
  /** For a refusal, one of the closed reasons of spec 4.5; else a short sentence. */
  reason: z.string().nullable(),
  approval_id: z.string().nullable(),
  /**
   * Id of the action in its audit events. Set only for requests that were denied, held, killed, or executed after a
   * hold.
   */
  act_id: z.string().nullable(),
  method: z.string(),
  host: z.string().nullable(),
  path: z.string().nullable(),
  /**
   * Owner of the handles in the request. For several, `foreign` and `unknown` take precedence over `own`. Absent if it
   * has none.
   */
  handle: HandleOwnerSchema.nullish(),
  /** Handles that the provider's response gave to the agent. */
  given: z.array(GivenHandle).max(8).nullish(),
  /** HTTP status of the response that the agent received. */
  status: z.int().min(0).max(999).nullable(),
  error_type: z.string().nullable(),
  latency_ms: z.number(),
  overhead_ms: z.number(),
  bytes_in: z.number().int(),
  bytes_out: z.number().int(),
  permission: z.string().nullable(),
  policies: z.array(z.string()),
  snapshot_version: z.number().int().nullable(),
  transport: z.string(),
  /**
   * Explanation of a request that was denied, held, or allowed only by the level. A plain allow names its permission
   * above.
   */
  why: RecordWhySchema.nullish(),
  audit: RecordAuditSchema.nullish(),
  /**
   * Counts of a row that stands for several refusals; absent from the record of one request. In such a row, fields that
   * differ are null, or `*` for the method.
   */
  refusals: RefusalsSchema.nullish(),
})

export type TrafficRecord = z.infer<typeof RecordSchema>
