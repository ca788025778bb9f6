import type { Action } from '../action/action.ts'
import type { PathFacts } from './facts/request-path.ts'
import type { RequiredGroups } from './policies/required-groups.ts'
import type { Verdict } from './vocabulary.ts'

/**
 * Enforcement level of a gateway. `monitor` enforces no decisions. `enforce_high_risk` enforces decisions on high-risk
 * actions and on writes without a catalogue row, and decisions of policies. `full_enforce` enforces all decisions (see
 * `applyLevel`).
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
 * Properties of a request through a gateway that conditions can read (`request.*`). Absent for action requests to the
 * v1 API.
 */
export type RequestFacts = {
  readonly method: string
  readonly host: string
  /** Path, decoded once; `%25` stays encoded. `UNKNOWN` if servers could read the path differently. */
  readonly path: PathFacts['path']
  /** Decoded segments of the path; `UNKNOWN` if `path` is. */
  readonly segments?: PathFacts['segments']
  /** Path as sent by the agent. */
  readonly raw_path: string
  /** Query parameters. A repeated parameter is a list. */
  readonly query: Readonly<Record<string, string | readonly string[]>>
  /** End-to-end header fields by lower-case name, without credentials. The value of a repeated field is a list. */
  readonly headers?: Readonly<Record<string, string | readonly string[]>>
  /**
   * JSON value of the body, or the fields of a form. `UNKNOWN` for a body in another format, or beyond
   * `BODY_FACT_BOUNDS`. Absent if the request has no body.
   */
  readonly body?: unknown
}

/** All inputs of one decision. `nowMs` is the Unix time in milliseconds. */
export type DecisionInput = {
  readonly action: Action
  readonly agent: AgentFacts
  readonly gateway?: { readonly name: string; readonly environment?: string }
  readonly connector?: { readonly name: string; readonly type: string; readonly environment?: string }
  readonly request?: RequestFacts
  /**
   * Query as parsed by servers that split only at `&` and keep names unchanged. Set only if it differs from
   * `request.query`; then the decision covers both readings.
   */
  readonly otherQuery?: RequestFacts['query'] | undefined
  /**
   * Decision about the host that the provider connects to for this action. The stricter of the two decisions applies.
   */
  readonly reach?: Decision | undefined
  readonly context?: Readonly<Record<string, unknown>>
  readonly nowMs: number
  /**
   * True for an announced action, which a later request performs. A condition that reads a fact of the later request
   * cannot be evaluated yet, and counts in favour of the agent, because the later request is decided again.
   */
  readonly isAnnounced?: boolean
}

/**
 * Source of the decision. `policy_invalid`: an invalid policy without a usable version, which denies everything in its
 * scope. `connector`: the rules allow the request, but the connector has no credential to send.
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
  /** `platform` for a rule of the platform team, which tenants cannot change. Absent for any other rule. */
  readonly tier?: 'platform'
}

/** Result of a decision, with the facts that explain it. */
export type Decision = {
  /** Type of the action with the strictest decision, which decided for the request. */
  readonly actionType?: string
  /** Decision that applies, after the enforcement level. */
  readonly verdict: Verdict
  /**
   * Decision under full enforcement, with all policies in enforce mode. It differs from `verdict` if the enforcement
   * level or the monitor mode of a policy relaxed the decision.
   */
  readonly would: Verdict
  readonly reason: string
  /** Instruction for rule authors on how to permit the action. The gateway never sends it to agents. */
  readonly remedy?: string | undefined
  readonly source: DecisionSource
  /** Id (`perm_…`) of the permission that decided for the agent and action; null if none matched. */
  readonly permission: string | null
  readonly permissionPattern: string | null
  /** Name of the manifest that declares the permission; absent for a permission that the API created. */
  readonly permissionManifest?: string | undefined
  /** References `pol_…@version` to all matching policies. */
  readonly policies: readonly string[]
  readonly rules: readonly MatchedRule[]
  /**
   * Policy rule that gives the decision before the enforcement level applies; absent if only a permission or the
   * default gives that decision.
   */
  readonly decisive?: MatchedRule | undefined
  readonly riskScore: number
  readonly riskFactors: readonly string[]
  /**
   * Sets of approver groups that must approve. Each set needs one approver. Without sets, any approver is sufficient.
   */
  readonly requiredGroups: readonly RequiredGroups[]
  readonly trace?: readonly PolicyTrace[]
}

/** Trace of one policy in a dry run (spec 4.3.1). */
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
