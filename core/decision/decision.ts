import type { Action } from '../action/action.ts'
import type { PathFacts } from './facts/request-path.ts'
import type { RequiredGroups } from './policies/required-groups.ts'
import type { Verdict } from './vocabulary.ts'

/** `monitor` forwards everything, `enforce_high_risk` enforces what is dangerous, `full_enforce` everything. */
export type EnforcementLevel = 'monitor' | 'enforce_high_risk' | 'full_enforce'

/** The agent as conditions see it (`agent.*`). */
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
  /** Decoded once; `%25` stays encoded. Unknown where servers read the path differently. */
  readonly path: PathFacts['path']
  /** Decoded; unknown where `path` is. */
  readonly segments?: PathFacts['segments']
  /** The path as sent. */
  readonly raw_path: string
  /** A parameter that was sent several times is a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>
  /** End-to-end fields by their names in lower case, without credentials. A repeated field is a list. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /** A JSON value, or the fields of a form; `UNKNOWN` beyond the bounds and in other formats; absent without a body. */
  readonly body?: unknown
}

/** Everything one decision may look at. `nowMs` is epoch milliseconds. */
export type DecisionInput = {
  readonly action: Action
  readonly agent: AgentFacts
  readonly gateway?: { readonly name: string; readonly environment?: string }
  readonly connector?: { readonly name: string; readonly type: string; readonly environment?: string }
  readonly request?: RequestFacts
  /**
   * `request.query` as servers read it that split at `&` alone and take names as they stand; only where that differs. A
   * decision is taken for both.
   */
  readonly otherQuery?: RequestFacts['query'] | undefined
  /** Whether the gateway lets the provider reach what the action is for; the stricter of both decisions holds. */
  readonly reach?: Decision | undefined
  readonly context?: Readonly<Record<string, unknown>>
  readonly nowMs: number
  /**
   * Set where the action is only announced: a condition that cannot be evaluated, because its fact comes later, then
   * counts for the agent. Everything is decided again when the action itself arrives.
   */
  readonly isAnnounced?: boolean
}

/** What settled it. `policy_invalid`: a policy that was never in force. `connector`: allowed, but there is no credential to send. */
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
  /** Of the platform team: no tenant can change it. */
  readonly tier?: 'platform'
}

/** The answer to "may this happen?", complete enough to explain itself. */
export type Decision = {
  /** Type of the action that decided: the strictest of several. */
  readonly actionType?: string
  /** What happens, after the enforcement level. */
  readonly verdict: Verdict
  /** What full enforcement says; equal to `verdict` unless the level let something pass. */
  readonly would: Verdict
  readonly reason: string
  /** How whoever writes the rules permits it. Agents do not get it. */
  readonly remedy?: string | undefined
  readonly source: DecisionSource
  /** `perm_…`: the permission that won, when one matched. */
  readonly permission: string | null
  readonly permissionPattern: string | null
  /** The name of that permission's manifest; absent for a row of the API. */
  readonly permissionManifest?: string | undefined
  /** `pol_…@version` of every policy that had an opinion. */
  readonly policies: readonly string[]
  readonly rules: readonly MatchedRule[]
  /** The rule of a policy that asked for exactly this outcome; absent where no policy did. */
  readonly decisive?: MatchedRule | undefined
  readonly riskScore: number
  readonly riskFactors: readonly string[]
  /** All of them have to be satisfied by approvers; empty when any approver is enough. */
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
