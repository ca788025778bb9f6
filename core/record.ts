import * as z from 'zod'
import type { LogDecision } from './decision/vocabulary.ts'
import { EffectWord } from './wire/gateway/effect-word.ts'
import { GivenHandle, HandleOwnerSchema } from './wire/gateway/handles.ts'
import { Instance } from './wire/gateway/instance.ts'
import { openEnum } from './wire/schema/open-enum.ts'

/** Decisions of this version. Records of newer gateways may have other decisions. */
const RecordDecision = openEnum(['ALLOW', 'HOLD', 'DENY'] as const satisfies readonly LogDecision[])

/** Reports whether this version defines the decision. */
export function isKnownDecision(decision: TrafficRecord['decision']): decision is LogDecision {
  return RecordDecision.options[0].safeParse(decision).success
}

/**
 * Reason of a decision other than a plain allow: its source, the sentence, the matching rules, the risk. Records store
 * the reason because rules change, while users examine a decision weeks later.
 */
export const RecordWhySchema = z.object({
  source: openEnum([
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
 * Additional details for the audit events of a refused or held request (spec 6.1). Other records have no such details,
 * and the traffic log does not store the details.
 */
const RecordAuditSchema = z.object({
  /** Details of `action.requested` without the action type. */
  requested: z.record(z.string(), z.unknown()),
  /** Reason in the response to the agent. */
  reason: z.string(),
  matched_policy: z.string().nullable(),
  matched_rule: z.string().nullable(),
  /** Risk as an integer from 0 to 100; null for an unknown action. */
  risk_score: z.int().min(0).max(100).nullable(),
})

export type RecordAudit = z.infer<typeof RecordAuditSchema>

/** Description of the credential with which the gateway sent a request. The description contains no secret. */
export const RecordCredentialSchema = z.object({
  /**
   * Id of the token that was issued for this request, as in the audit event `credential.narrowed`. Without such a
   * token: the name of the Connector and the version of its credential. The version of a minted credential is the
   * number of the audit event `credential.minted` (`default/codehost/7`). The version of a stored credential is an id
   * that is different after each change (`default/codehost/5f0c9a1b2c3d`).
   */
  id: z.string().max(700),
  /**
   * Field of the Connector that states the source, such as `githubApp` or `secretRef`; `api` for a Connector of the
   * API, `organisation` for the token of the organisation, `stored` if the control plane does not state the source.
   */
  source: z.string().max(32),
  /**
   * Repositories and permissions, or scopes: those of a token that was narrowed to the request, such as `acme/site`,
   * `contents:write`; otherwise those that the Connector states for its tokens.
   */
  scope: z.array(z.string().max(300)).max(128).nullish(),
  /**
   * Sentence that states why a Connector with narrowed tokens sent the request with its own, wider token; absent
   * otherwise.
   */
  not_narrowed: z.string().max(1_000).nullish(),
  /** Expiry of a short-lived credential, ISO 8601. */
  expires_at: z.string().max(40).nullish(),
})

export type RecordCredential = z.infer<typeof RecordCredentialSchema>

/** One of several actions of a request. */
export const RecordActionSchema = z.object({
  type: z.string(),
  /** Repository, channel, host, id, … that the action is for; null if the request does not name it. */
  target: z.string().max(400).nullable(),
  effect: EffectWord,
  /** Effect classes of the action; the list contains `unknown` if the classes are unknown. Absent if there are none. */
  effects: z.array(z.string().max(32)).max(16).optional(),
})

export type RecordAction = z.infer<typeof RecordActionSchema>

/** Counts of an aggregate record, which stands for many refusals of one agent. */
export const RefusalsSchema = z.object({
  count: z.int().min(1).max(1_000_000_000),
  /** Times of the first and last refusal, ISO 8601 UTC. */
  first: z.iso.datetime(),
  last: z.iso.datetime(),
  distinct_targets: z.int().min(0),
  /** True if there were more distinct targets than the gateway tracks. */
  more_targets: z.boolean(),
  /** The first distinct targets, at most 32. */
  targets: z.array(z.string().max(400)).max(32),
  /** Number of refusals by reason. */
  reasons: z.record(z.string().max(100), z.int().min(1)),
  /**
   * Number of refusals by action type, for a limited number of types. The keys `mcp.*` and `*` count the refusals of
   * all other types. Absent in records of earlier versions.
   */
  actions: z.record(z.string().max(400), z.int().min(1)).optional(),
})

/**
 * Record of a governed request, one for each request: in the journal, in uploads, in `/internal/traffic` and in
 * `/api/dashboard/traffic`. Paths are stored without credentials. Bodies are never stored.
 */
export const RecordSchema = z.object({
  id: z.string().max(100),
  process_id: z.string().max(128),
  /** Sequence number, which increases by one per record of a process. A gap means that records were lost. */
  seq: z.number().int().nonnegative(),
  /** Time at which the gateway accepted the request, ISO 8601 UTC. */
  time: z.iso.datetime(),
  gateway: z.string().max(300),
  agent: z.string().max(300).nullable(),
  /** Instance of the agent when the request arrived; absent for a request from outside of a pod. */
  instance: Instance.nullish(),
  connector: z.string().max(300).nullable(),
  /**
   * Action that represents the request. For several actions, this is the riskiest one. For several candidates, this is
   * the one with the strictest decision.
   */
  action_type: z.string().nullable(),
  /** All candidates of a request whose action could not be determined; absent for other requests. */
  candidates: z.array(z.string()).nullish(),
  /** Distinct action names of a request with several actions, in order; absent for other requests. */
  actions: z.array(z.string()).max(64).nullish(),
  /** Number of actions of the request; absent for one action. */
  action_count: z.int().min(2).nullish(),
  /**
   * Effect classes of the request's actions, including `unknown` if the classes of an action are unknown. Absent if
   * there are none.
   */
  effects: z.array(z.string().max(32)).max(16).nullish(),
  decision: RecordDecision,
  /** Decision that the level `full_enforce` would make; null if it equals `decision`. */
  would: RecordDecision.nullable(),
  /**
   * Short remark on the request: `approved`, `executed` (by a decision token), `would deny`, `would hold`, `unknown`
   * (the process crashed after it had recorded the intent, before it recorded the result), …
   */
  note: z.string().nullable(),
  /** Reason of the result: for a refusal one of the closed list of spec 4.5, otherwise a short sentence. */
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
  /** The first 64 actions of a request with several actions, in order. Absent for a request with one action. */
  action_details: z.array(RecordActionSchema).max(64).nullish(),
  /**
   * Number of function tools in a model request, that is, of tools that the agent executes itself. Absent if there are
   * none.
   */
  function_tools: z.int().min(1).nullish(),
  /**
   * Owner of the handles (provider ids of sessions, files or batches) in the request. If the owners differ, `foreign`
   * and `unknown` take precedence over `own`. Absent if the request has no handles.
   */
  handle: openEnum(HandleOwnerSchema.options).nullish(),
  /** Handles in the provider's response, which belong to the agent from then on. */
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
   * Explanation of a request that was denied, held, or allowed only because of the enforcement level. Absent for a
   * plain allow.
   */
  why: RecordWhySchema.nullish(),
  /**
   * Credential of the gateway with which the request was sent. Absent if the request was refused, or sent without one.
   */
  credential: RecordCredentialSchema.nullish(),
  audit: RecordAuditSchema.nullish(),
  /**
   * Counts of an aggregate record, which stands for several refusals; absent in the record of one request. In an
   * aggregate record, fields in which the refusals differ are null, except that `method` is `*`.
   */
  refusals: RefusalsSchema.nullish(),
})

export type TrafficRecord = z.infer<typeof RecordSchema>

/** Record of a request that this process decided, with the decisions of this version. */
export type OwnRecord = Omit<TrafficRecord, 'decision' | 'would'> & {
  readonly decision: LogDecision
  readonly would: LogDecision | null
}
