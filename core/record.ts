import * as z from 'zod'
import { GivenHandle, HandleOwnerSchema } from './wire/gateway/handles.ts'

/**
 * Why it was not simply let through, in the words of the decision: what settled it, the sentence, the rules with an
 * opinion, the risk. Rules change, and the question is asked weeks later.
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
  /** The pattern of the permission that won, when one matched. */
  pattern: z.string().nullable(),
  rules: z.array(z.object({ policy: z.string(), rule: z.string() })),
  risk_score: z.number(),
  risk_factors: z.array(z.string()),
  approver_groups: z.array(z.string()),
})

export type RecordWhy = z.infer<typeof RecordWhySchema>

/**
 * What the audit events of a refused or stopped request say beyond its record (spec 6.1). Records of allowed traffic have
 * none, and the traffic log stores none: the events do.
 */
export const RecordAuditSchema = z.object({
  /** Details of `action.requested` but for the action type. */
  requested: z.record(z.string(), z.unknown()),
  /** The sentence that the agent was answered. */
  reason: z.string(),
  matched_policy: z.string().nullable(),
  matched_rule: z.string().nullable(),
  /** An integer from 0 to 100; null where no action is known. */
  risk_score: z.int().min(0).max(100).nullable(),
})

export type RecordAudit = z.infer<typeof RecordAuditSchema>

/** What a row counts that stands for many refusals of one agent. */
export const RefusalsSchema = z.object({
  count: z.int().min(1).max(1_000_000_000),
  /** ISO 8601 UTC. */
  first: z.iso.datetime(),
  last: z.iso.datetime(),
  distinct_targets: z.int().min(0),
  /** True when there were more distinct targets than the gateway could tell apart. */
  more_targets: z.boolean(),
  /** The first of them, at most 32. */
  targets: z.array(z.string().max(400)).max(32),
  /** Count by reason. */
  reasons: z.record(z.string().max(100), z.int().min(1)),
  /** Count by action type, where one is known; `mcp.*` and `*` for further types. Rows of earlier versions have none. */
  actions: z.record(z.string().max(400), z.int().min(1)).optional(),
})

/**
 * The one record of a governed request: what the journal holds, what is uploaded, what `/internal/traffic` and
 * `/api/dashboard/traffic` show. Paths are stored without credentials; bodies are never stored.
 */
export const RecordSchema = z.object({
  id: z.string().max(100),
  process_id: z.string().max(128),
  /** Rises by one per record of a process: a gap is a lost record. */
  seq: z.number().int().nonnegative(),
  /** ISO 8601 UTC, when the request was accepted. */
  time: z.iso.datetime(),
  gateway: z.string().max(300),
  agent: z.string().max(300).nullable(),
  connector: z.string().max(300).nullable(),
  /** The action that stands for the request: the riskiest of several, the strictest of `candidates`. */
  action_type: z.string().nullable(),
  /** Every action that the request may have been, where nothing told which of them it was; absent otherwise. */
  candidates: z.array(z.string()).nullish(),
  /** Distinct names of a request that carries several actions, in its order; absent otherwise. */
  actions: z.array(z.string()).max(64).nullish(),
  /** How many actions it carries; absent for a single one. */
  action_count: z.int().min(2).nullish(),
  decision: z.enum(['ALLOW', 'HOLD', 'DENY']),
  /** What full enforcement would have done, when that differs from `decision`. */
  would: z.enum(['ALLOW', 'HOLD', 'DENY']).nullable(),
  /** `approved`, `executed` (an order by token), `would deny`, `would hold`, `unknown` (crashed between intent and result), … */
  note: z.string().nullable(),
  /** One of the closed reasons of spec 4.5 for a refusal, else a short sentence. */
  reason: z.string().nullable(),
  approval_id: z.string().nullable(),
  /** Given to denied, held, stopped and executed-after-hold requests: they get an audit event. */
  act_id: z.string().nullable(),
  method: z.string(),
  host: z.string().nullable(),
  path: z.string().nullable(),
  /** Whose the things at the provider are that it names: `foreign` and `unknown` before `own`; absent where it names none. */
  handle: HandleOwnerSchema.nullish(),
  /** What the provider gave to the agent with its answer. */
  given: z.array(GivenHandle).max(8).nullish(),
  /** What the agent was answered. */
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
  /** Of what was denied, held or let through by the level alone; a plain allow names its permission above. */
  why: RecordWhySchema.nullish(),
  audit: RecordAuditSchema.nullish(),
  /**
   * Of a row that counts refusals: fields in which they differ are null, or `*` for the method. Absent from the record of
   * one request.
   */
  refusals: RefusalsSchema.nullish(),
})

export type TrafficRecord = z.infer<typeof RecordSchema>
