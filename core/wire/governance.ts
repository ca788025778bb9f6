import * as z from 'zod'
import { ConnectorType } from '../crd/schemas.ts'
import { RecordSchema } from '../record.ts'
import { NamedAction } from './dashboard.ts'
import { ApprovalCard } from './internal.ts'

/** Replies about rules and evidence that the pages need beside the specified ones; part of the documented API. */

export const PolicyProblem = z.object({
  /** Of `policyYaml`, from 1; null when it is about no place in it. */
  line: z.int().nullable(),
  message: z.string(),
})

export const PolicyCheckReply = z.object({
  /** It could be put in force: no problems, and every test passes. */
  ok: z.boolean(),
  problems: z.array(PolicyProblem),
  tests: z.array(z.object({ name: z.string(), passed: z.boolean(), failure: z.string().optional() })),
  warnings: z.array(z.string()),
})

const Verdict = z.enum(['ALLOW', 'HOLD', 'DENY'])
/** `would`: what full enforcement says, when the level or a policy in monitor mode lets it pass. */
const Replayed = z.object({ decision: Verdict, would: Verdict, reason: z.string() })

export const ReplayReply = z.object({
  /** Recorded requests that were decided again, the newest ones. */
  considered: z.int(),
  /** Those that no action or agent of today stands behind any more. */
  skipped: z.int(),
  changes: z.array(
    z.object({
      record_id: z.string(),
      time: z.string(),
      agent: z.string(),
      action_type: z.string(),
      request: z.string(),
      /** With the policies in force, and with the given text in their place. */
      before: Replayed,
      after: Replayed,
    }),
  ),
})

export const PolicyVersionsReply = z.object({
  policy_id: z.string(),
  /** Newest first. */
  versions: z.array(
    z.object({
      version: z.int(),
      policyYaml: z.string(),
      /** Its tests passed, so that it was put in force. */
      passed: z.boolean(),
      created_at: z.string(),
    }),
  ),
})

export const EffectiveAction = NamedAction.extend({
  decision: Verdict,
  would: Verdict,
  reason: z.string(),
  /** What settled it: `permission`, `policy`, `default`, `agent`, `level`, … */
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

export const EffectiveReply = z.object({
  agent: z.string().nullable(),
  /** Null for an agent without one: policies alone decide about it. */
  gateway: z.string().nullable(),
  type: ConnectorType,
  /** Connector records of the agent's gateway that this type stands for. */
  connectors: z.array(z.string()),
  /** Agents that can be asked about. */
  agents: z.array(z.object({ name: z.string(), status: z.string(), gateway: z.string().nullable() })),
  actions: z.array(EffectiveAction),
})

export const AuditEntry = z.object({
  id: z.string(),
  event_type: z.string(),
  agent_id: z.string().nullable(),
  user_id: z.string().nullable(),
  action_request_id: z.string().nullable(),
  action_type: z.string().nullable(),
  details: z.record(z.string(), z.unknown()),
  created_at: z.string(),
})

export const AuditReply = z.object({
  /** Newest first. */
  events: z.array(AuditEntry),
  next_cursor: z.string().nullable(),
})

export const EvidenceReply = z.object({
  action_request_id: z.string(),
  /** Oldest first. */
  events: z.array(AuditEntry),
  approvals: z.array(ApprovalCard),
  /** Requests that were governed for it, as far as the traffic log reaches; oldest first. */
  requests: z.array(RecordSchema),
})

export type PolicyCheckReply = z.infer<typeof PolicyCheckReply>
export type PolicyProblem = z.infer<typeof PolicyProblem>
export type ReplayReply = z.infer<typeof ReplayReply>
export type PolicyVersionsReply = z.infer<typeof PolicyVersionsReply>
export type EffectiveAction = z.infer<typeof EffectiveAction>
export type EffectiveReply = z.infer<typeof EffectiveReply>
export type AuditEntry = z.infer<typeof AuditEntry>
export type AuditReply = z.infer<typeof AuditReply>
export type EvidenceReply = z.infer<typeof EvidenceReply>
