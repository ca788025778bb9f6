import type { Action } from '../action/action.ts'
import type { PathFacts } from './facts/request-path.ts'
import type { RequiredGroups } from './policies/required-groups.ts'
import type { Verdict } from './vocabulary.ts'

/**
 * `monitor` forwards everything. `enforce_high_risk` applies verdicts to high risk only, `full_enforce` to everything.
 */
export type EnforcementLevel = 'monitor' | 'enforce_high_risk' | 'full_enforce'

/** Properties of the agent that conditions can read (`agent.*`). */
export type AgentFacts = {
  readonly id: string
  readonly name: string
  readonly environment: string
  readonly runtime: string
  readonly status: 'active' | 'suspended' | 'revoked'
}

/**
 * Properties of a proxied request that conditions can read (`request.*`). Absent for actions that are submitted to v1.
 */
export type RequestFacts = {
  readonly method: string
  readonly host: string
  /** Path, decoded once; `%25` stays encoded. Unknown if servers read the path differently. */
  readonly path: PathFacts['path']
  /** Decoded segments of the path; unknown if `path` is unknown. */
  readonly segments?: PathFacts['segments']
  /** The path as sent. */
  readonly raw_path: string
  /** Query parameters. A repeated parameter is a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>
  /** End-to-end fields by lower-case name, without credentials. A repeated field is a list. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /**
   * JSON value of the body, or the fields of a form. `UNKNOWN` beyond the bounds and in other formats; absent without a
   * body.
   */
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
   * Query as servers read it that split only at `&` and keep names unchanged; set if it differs from `request.query`.
   * Both readings are decided.
   */
  readonly otherQuery?: RequestFacts['query'] | undefined
  /** Decision about the host that the provider connects to for this action. The stricter of both decisions applies. */
  readonly reach?: Decision | undefined
  readonly context?: Readonly<Record<string, unknown>>
  readonly nowMs: number
  /**
   * True for an announced action, which a later request performs. A condition that reads a fact of that later request
   * cannot be evaluated yet, and counts in favour of the agent.
   */
  readonly isAnnounced?: boolean
}

/**
 * Source of the decision. `policy_invalid`: a policy that was never in force. `connector`: the rules allow the request,
 * but the connector has no credential to send.
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
  /** `platform` if the rule belongs to the platform team, so that tenants cannot change it. */
  readonly tier?: 'platform'
}

/** The result of a decision, and the facts that explain it. */
export type Decision = {
  /** Type of the action that decided: the one with the strictest decision. */
  readonly actionType?: string
  /** Verdict that applies, after the enforcement level. */
  readonly verdict: Verdict
  /** Verdict under full enforcement. Equal to `verdict` unless the level relaxed it. */
  readonly would: Verdict
  readonly reason: string
  /** Instruction for rule authors on how to permit the action. Never sent to agents. */
  readonly remedy?: string | undefined
  readonly source: DecisionSource
  /** Id (`perm_…`) of the permission that decided for the agent and action; null if none matched. */
  readonly permission: string | null
  readonly permissionPattern: string | null
  /** Name of the manifest that declares the permission; absent for a row of the API. */
  readonly permissionManifest?: string | undefined
  /** References `pol_…@version` to all matching policies. */
  readonly policies: readonly string[]
  readonly rules: readonly MatchedRule[]
  /** The policy rule that has exactly this verdict; absent if no policy has it. */
  readonly decisive?: MatchedRule | undefined
  readonly riskScore: number
  readonly riskFactors: readonly string[]
  /** Sets of approver groups. Each set needs an approver; without sets, any approver is sufficient. */
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
