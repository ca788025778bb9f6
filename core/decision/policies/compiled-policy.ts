import { fold, matchesPattern, type Pattern } from '../../action/pattern.ts'
import type { PolicyScope } from '../../crd/policy/policy-document.ts'
import type { PolicyTier } from '../../wire/gateway/sections/policy-reach.ts'
import type { Condition } from '../conditions/condition.ts'
import type { AgentFacts, DecisionInput } from '../decision.ts'
import type { PlacedInput } from '../facts/environment.ts'
import type { Verdict } from '../vocabulary.ts'

export type CompiledRule = {
  readonly name: string
  readonly conditions: readonly Condition[]
  readonly verdict: Verdict
  readonly reason: string | null
  readonly approverGroups: readonly string[]
  readonly distinct: boolean
}

export type CompiledPolicy = {
  readonly id: string
  readonly name: string
  readonly version: number
  /** Reference `pol_…@version`, as in decisions and records. */
  readonly ref: string
  readonly priority: number
  /**
   * Mode of the policy. `enforce`: its result applies. `monitor`: its result affects only `would`, the decision under
   * full enforcement.
   */
  readonly mode: 'enforce' | 'monitor'
  /**
   * True if the policy can only make decisions stricter: its `allow` counts as no match, and its results never replace
   * the results of other policies.
   */
  readonly tightensOnly: boolean
  /** Agents, actions, connectors and environments that the policy covers. Environments are in lower case. */
  readonly scope: PolicyScope
  readonly patterns: readonly Pattern[]
  readonly rules: readonly CompiledRule[]
  /**
   * Reason why the policy is invalid and has no usable version, so that its only rule denies. Null if the rules of its
   * text apply.
   */
  readonly invalid: string | null
  readonly tier: PolicyTier
  /** Namespace whose agents the policy covers; null for all agents. */
  readonly agentsOf: string | null
}

/**
 * Extent to which the patterns of a policy's scope cover an action. `tighten`: only the policy's deny and
 * require_approval rules apply, because the patterns match only without case (see pattern.ts).
 */
export type Reach = 'none' | 'tighten' | 'full'

export function reachOf(policy: CompiledPolicy, actionType: string): Reach {
  if (!policy.patterns.some((pattern) => matchesPattern(pattern, actionType, 'tighten'))) return 'none'
  return policy.patterns.some((pattern) => matchesPattern(pattern, actionType, 'allow')) ? 'full' : 'tighten'
}

/**
 * Reports whether a policy whose patterns cover the action also covers the agent, environment and connector of the
 * request. An empty list in the scope covers everything.
 */
export function isInScope(policy: CompiledPolicy, input: PlacedInput): boolean {
  return concerns(policy, input) && names(policy.scope.environments, [input.environment])
}

/** Facts of a request that are known before its body is read. */
export type Concerned = {
  readonly agent: Pick<AgentFacts, 'id' | 'name'>
  readonly gateway?: { readonly name: string }
  readonly connector?: DecisionInput['connector']
  readonly action: { readonly connector: string }
}

/** Returns false if the policy cannot apply to the request, regardless of the other facts of the request. */
export function concerns(
  { scope, agentsOf }: CompiledPolicy,
  { agent, gateway, connector, action }: Concerned,
): boolean {
  return (
    (agentsOf === null || agentsOf === namespaceOf(agent.name, gateway?.name)) &&
    names(scope.agents, [agent.name, agent.id]) &&
    names(scope.connectors, [connector?.name, connector?.type, action.connector])
  )
}

/** Returns the scope with environments in lower case, as comparisons require. */
export function foldScope(scope: PolicyScope): PolicyScope {
  return { ...scope, environments: scope.environments.map(fold) }
}

function names(wanted: readonly string[], own: readonly (string | undefined)[]): boolean {
  return wanted.length === 0 || wanted.some((name) => own.some((each) => isNamed(name, each)))
}

/** Reports whether the name equals `wanted`, or begins with the text before the trailing `*` of `wanted`. */
function isNamed(wanted: string, own: string | undefined): boolean {
  if (own === undefined) return false
  return wanted.endsWith('*') ? own.startsWith(wanted.slice(0, -1)) : own === wanted
}

/**
 * Returns the namespace of an agent. An agent name without a namespace belongs to the namespace of its Gateway. Null
 * if both have no namespace.
 */
function namespaceOf(agent: string, gateway: string | undefined): string | null {
  const qualified = agent.includes('/') ? agent : gateway
  return qualified === undefined || !qualified.includes('/')
    ? null
    : qualified.slice(0, qualified.indexOf('/'))
}
