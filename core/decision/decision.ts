import type { Action } from '../action/action.ts'
import type { PathFacts } from './facts/request-path.ts'
import type { RequiredGroups } from './policies/required-groups.ts'
import type { Verdict } from './vocabulary.ts'

/** `monitor` forwards everything, `enforce_high_risk` enforces verdicts on high risk, `full_enforce` everything. */
export type EnforcementLevel = 'monitor' | 'enforce_high_risk' | 'full_enforce'

/** The agent in conditions (`agent.*`). */
export type AgentFacts = {
  readonly id: string
  readonly name: string
  readonly environment: string
  readonly runtime: string
  readonly status: 'active' | 'suspended' | 'revoked'
}

/** Proxy mode only (`request.*`). */
export type RequestFacts = {
  readonly method: string
  readonly host: string
  /** Decoded once; `%25` stays encoded. Unknown if servers read the path differently. */
  readonly path: PathFacts['path']
  /** Decoded; unknown if `path` is. */
  readonly segments?: PathFacts['segments']
  /** The path as sent. */
  readonly raw_path: string
  /** A repeated parameter is a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>
  /** End-to-end fields by lower-case name, without credentials. A repeated field is a list. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** A JSON value, or the fields of a form; `UNKNOWN` beyond the bounds and in other formats; absent without a body. */
  readonly body?: unknown
}

/** All inputs of one decision. `nowMs` is epoch milliseconds. */
export type DecisionInput = {
  readonly action: Action
  readonly agent: AgentFacts
  readonly gateway?: { readonly name: string; readonly environment?: string }
  readonly connector?: { readonly name: string; readonly type: string; readonly environment?: string }
  readonly request?: RequestFacts
  /**
   * `request.query` as read by servers that split only at `&` and keep names unchanged; set if it differs. Both
   * readings are decided.
   */
  readonly otherQuery?: RequestFacts['query'] | undefined
  /** Decision about the host that the provider reaches for the action; the stricter of both decisions applies. */
  readonly reach?: Decision | undefined
  readonly context?: Readonly<Record<string, unknown>>
  readonly nowMs: number
  /**
   * Set for an announced action: a condition that cannot be evaluated, because its fact arrives later, counts in favour
   * of the agent. The action itself is decided again.
   */
  readonly isAnnounced?: boolean
}

/**
 * Source of the decision. `policy_invalid`: a policy that was never in force. `connector`: allowed, but there is no
 * credential to send.
 */
export type DecisionSource =
  | 'kill'
  | 'agent'
  | 'permission'
  | 'policy'
  | 'policy_invalid'
  | 'default'
  | 'level'
  | 'connector'

export type MatchedRule = {
  readonly policyId: string
  readonly policyName: string
  readonly rule: string
  /** Set by the platform team: tenants cannot change it. */
  readonly tier?: 'platform'
}

/** The result of a decision, with everything that explains it. */
export type Decision = {
  /** Type of the deciding action: the strictest of several. */
  readonly actionType?: string
  /** The verdict after the enforcement level. */
  readonly verdict: Verdict
  /** The verdict under full enforcement; equal to `verdict` unless the level relaxed it. */
  readonly would: Verdict
  readonly reason: string
  /** Instruction for rule authors to permit the action. Never sent to agents. */
  readonly remedy?: string | undefined
  readonly source: DecisionSource
  /** `perm_…`: the winning permission, if one matched. */
  readonly permission: string | null
  readonly permissionPattern: string | null
  /** The name of that permission's manifest; absent for a row of the API. */
  readonly permissionManifest?: string | undefined
  /** `pol_…@version` of every matching policy. */
  readonly policies: readonly string[]
  readonly rules: readonly MatchedRule[]
  /** The policy rule with exactly this verdict; absent if no policy has it. */
  readonly decisive?: MatchedRule | undefined
  readonly riskScore: number
  readonly riskFactors: readonly string[]
  /** Approvers must satisfy all of them; empty if any approver is sufficient. */
  readonly requiredGroups: readonly RequiredGroups[]
  readonly trace?: readonly PolicyTrace[]
}

/** Dry-run trace per policy (spec 4.3.1). */
export type PolicyTrace = {
  readonly policy_id: string
  readonly policy_name: string
  readonly scope_matched: boolean
  readonly rules: ReadonlyArray<{
    readonly rule_name: string
    readonly conditions_matched: boolean
    readonly failed_condition: string | null
    readonly decision: string | null
  }>
}
