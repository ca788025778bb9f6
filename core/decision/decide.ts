import type { Action } from '../action/action.ts'
import { type Risk, scoreRisk } from '../action/risk.ts'
import type { Named } from '../connectors/connector.ts'
import type { KillEntry } from '../wire/gateway/kill.ts'
import {
  combineAll,
  combineAnnounced,
  combineCandidates,
  combineQueries,
  combineReadings,
  combineUnknown,
  withReach,
} from './combine.ts'
import type { Decision, DecisionInput, EnforcementLevel, MatchedRule } from './decision.ts'
import { applyLevel } from './enforcement.ts'
import { type PlacedInput, placedInputs } from './facts/environment.ts'
import { createFacts } from './facts/facts.ts'
import { withQuery } from './facts/request-facts.ts'
import { type Judgement, judge, modeOf, policyRefs } from './judgement.ts'
import { killReason } from './kill-switch/kill-switch.ts'
import { decidingPermission } from './permissions/deciding-permission.ts'
import type { PermissionIndex } from './permissions/permission-index.ts'
import type { PolicyIndex } from './policies/policy-index.ts'
import { collectOpinions, matchedRule, tracePolicies, weigh } from './policies/policy-opinion.ts'
import { agentReason, agentRemedy, levelReason, reasonOf, remedyOf, shadowReason } from './reasons.ts'
import { strictest, strictness, type Verdict } from './vocabulary.ts'

/** Permissions, policies and settings that one decision applies. */
export type DecisionRules = {
  /**
   * Permissions of the gateway. Null for a v1 action if no gateway has the connector; then only the policies decide.
   */
  readonly permissions: PermissionIndex | null
  readonly policies: PolicyIndex
  /** Enforcement level of the gateway. Null for an action of the v1 API, whose decisions are advice. */
  readonly level: EnforcementLevel | null
  /** Decision about a request through a gateway if no permission matches. */
  readonly defaultVerdict: Verdict
}

/**
 * Decides whether this agent may perform this action now.
 *
 * The permission (or the default if none matches) and the policies are evaluated separately, and the stricter result
 * applies. If no policy matches, the permission decides alone. If `rules` have no permissions, the policies decide
 * alone, and the decision is deny if none matches. The enforcement level may then relax the decision. A policy in
 * monitor mode affects only `would`. The stricter decision also applies if the caller claims another environment than
 * the installation's, or if servers could parse the query differently. An agent that is not active is denied at every
 * level. `trace` adds the result of every policy and rule, for the dry run.
 */
export function decide(
  rules: DecisionRules,
  input: DecisionInput,
  options: { readonly trace?: boolean } = {},
): Decision {
  const { request, otherQuery: query, reach } = input
  const decision = withReach(decideReading(rules, input, options), reach)
  if (request === undefined || query === undefined) return decision
  const other = { ...input, request: withQuery(request, query) }
  return combineQueries(decision, withReach(decideReading(rules, other, options), reach))
}

function decideReading(
  rules: DecisionRules,
  input: DecisionInput,
  options: { readonly trace?: boolean },
): Decision {
  const inputs = placedInputs(input)
  return combineReadings(
    inputs.map(({ environment }) => environment),
    inputs.map((placed) => decidePlaced(rules, placed, options)),
  )
}

function decidePlaced(
  rules: DecisionRules,
  input: PlacedInput,
  options: { readonly trace?: boolean },
): Decision {
  const risk = scoreRisk(input.action, input.isProduction)
  const facts = createFacts(input, risk)
  const opinions = collectOpinions(rules.policies, input, facts)
  const enforced = opinions.filter(({ policy }) => policy.mode !== 'monitor')
  const { permissions, defaultVerdict } = rules
  const { action, agent } = input
  const permission = permissions && decidingPermission(permissions, agent.name, { action, defaultVerdict })
  const frame = { mode: modeOf(rules), permission, defaultVerdict }
  const judged = judge({ ...frame, policy: weigh(enforced) })
  const shadowed = enforced.length === opinions.length ? judged : judge({ ...frame, policy: weigh(opinions) })
  const decision = conclude({ level: rules.level, input, risk, judged, shadowed })
  return options.trace ? { ...decision, trace: tracePolicies(rules.policies, input, facts) } : decision
}

/**
 * Decides a request with several actions (an MCP batch, several GraphQL fields). Returns the strictest decision with
 * the name of its action. A request without actions is denied.
 */
export function decideAll(rules: DecisionRules, inputs: readonly DecisionInput[]): Decision {
  const types = inputs.map(({ action }) => action.type)
  return combineAll(
    types,
    inputs.map((input) => decide(rules, input)),
  )
}

/**
 * Decides a request whose body determines the action. Returns `split` if the candidates do not all have the same
 * decision and, for a hold, the same approvers. The gateway must then read the body.
 */
function decideCandidates(rules: DecisionRules, inputs: readonly DecisionInput[]): Decision | 'split' {
  return combineCandidates(inputs.map((input) => decide(rules, input)))
}

/**
 * Decides a classified request; `inputs[i]` belongs to `judgedActions(named)[i]`. Returns `split` if the candidates
 * have different decisions and only the body determines which candidate happens.
 */
export function decideNamed(
  rules: DecisionRules,
  named: Named,
  inputs: readonly DecisionInput[],
): Decision | 'split' {
  if (named.kind === 'actions') {
    if (named.announces === undefined) return decideAll(rules, inputs)
    return combineAnnounced(inputs.map((input) => decide(rules, { ...input, isAnnounced: true })))
  }
  if (named.settledBy !== 'server') return decideCandidates(rules, inputs)
  return combineUnknown(inputs.map((input) => decide(rules, input)))
}

/** Returns the actions that the decision about a request covers. */
export function judgedActions(named: Named): readonly Action[] {
  return named.kind === 'actions' ? (named.announces ?? named.actions) : named.candidates
}

type Conclusion = {
  readonly level: EnforcementLevel | null
  readonly input: DecisionInput
  readonly risk: Risk
  /**
   * Combined results of the permission and the policies: `judged` of the policies in enforce mode, `shadowed` of all
   * policies, including those in monitor mode.
   */
  readonly judged: Judgement
  readonly shadowed: Judgement
}

function conclude(given: Conclusion): Decision {
  const { judged, shadowed, risk } = given
  const { permission } = judged
  return {
    actionType: given.input.action.type,
    ...outcomeOf(given),
    permission: permission?.id ?? null,
    permissionPattern: permission?.pattern ?? null,
    permissionManifest: permission?.manifest ?? undefined,
    policies: policyRefs(shadowed.policy),
    rules: shadowed.policy.opinions.map(matchedRule),
    decisive: decisiveRule(judged),
    riskScore: risk.score,
    riskFactors: risk.factors,
  }
}

/**
 * Returns the policy rule that decided; undefined if no policy decided. A policy in monitor mode never decides, even
 * if its rule matches first.
 */
function decisiveRule({ isByPolicy, policy }: Judgement): MatchedRule | undefined {
  return isByPolicy && policy.decisive !== null ? matchedRule(policy.decisive) : undefined
}

type Outcome = Pick<Decision, 'verdict' | 'would' | 'reason' | 'remedy' | 'source' | 'requiredGroups'>

function outcomeOf({ level, input, risk, judged, shadowed }: Conclusion): Outcome {
  if (input.agent.status !== 'active') {
    const both = { reason: agentReason(input), remedy: agentRemedy(input) }
    return { verdict: 'deny', would: 'deny', ...both, source: 'agent', requiredGroups: [] }
  }
  const { verdict: strict, isByPolicy, source } = judged
  const would = strictest(strict, shadowed.verdict)
  const verdict =
    level === null
      ? strict
      : applyLevel(level, { would: strict, action: input.action, riskScore: risk.score, isByPolicy })
  const asking = verdict === 'hold' ? judged : shadowed
  const requiredGroups = would === 'hold' || verdict === 'hold' ? asking.policy.requiredGroups : []
  const reason = withShadow(reasonOf(judged, input), judged, shadowed)
  const remedy = remedyOf(judged, input)
  if (verdict === strict) return { verdict, would, reason, remedy, source, requiredGroups }
  return {
    verdict,
    would,
    reason: levelReason(String(level), would, reason),
    source: 'level',
    requiredGroups,
  }
}

function withShadow(reason: string, judged: Judgement, shadowed: Judgement): string {
  const { decisive } = shadowed.policy
  if (decisive === null || strictness(shadowed.verdict) <= strictness(judged.verdict)) return reason
  return `${reason} ${shadowReason(decisive)}`
}

/**
 * Returns the decision under an active kill switch: a deny that keeps the original trace, so that a dry run stays
 * complete.
 */
export function underKillSwitch(decision: Decision, entry: KillEntry): Decision {
  return {
    ...decision,
    verdict: 'deny',
    would: 'deny',
    reason: killReason(entry),
    remedy: undefined,
    source: 'kill',
    requiredGroups: [],
  }
}
