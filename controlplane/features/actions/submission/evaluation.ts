import type { Action } from '../../../../core/action/action.ts'
import { type ActionSpec, actionFromSpec, type KnownAction } from '../../../../core/action/spec.ts'
import type { ExecuteSpec } from '../../../../core/connectors/connector.ts'
import { connectorsOfAction } from '../../../../core/connectors/execute/execute-request.ts'
import { withImpliedActions } from '../../../../core/connectors/execute/implied-actions.ts'
import { knownByName } from '../../../../core/connectors/known-action.ts'
import type { BoundConnector } from '../../../../core/connectors/registry.ts'
import { combineAll, combineConnectors } from '../../../../core/decision/combine.ts'
import { type DecisionRules, decide, underKillSwitch } from '../../../../core/decision/decide.ts'
import type { AgentFacts, Decision, DecisionInput } from '../../../../core/decision/decision.ts'
import { plainDecision } from '../../../../core/decision/egress.ts'
import { shownEnvironment } from '../../../../core/decision/facts/environment.ts'
import { matchKill } from '../../../../core/decision/kill-switch/kill-switch.ts'
import { decideReach, reachedConnectors } from '../../../../core/decision/provider-reach.ts'
import { OUTCOME } from '../../../../core/decision/vocabulary.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import type { DecisionView } from '../../../../core/wire/v1.ts'
import { entriesFor } from '../../../sync/kill-switch/state.ts'
import type { AgentRow } from '../../agents/rows.ts'
import type { ActionRules, GatewayRules } from '../rules.ts'

export type EvaluationDeps = {
  readonly knownAction: (type: string) => KnownAction | null
  readonly kills: () => readonly KillEntry[]
  readonly clock: { nowMs(): number }
}

export type Evaluated = {
  readonly action: Action
  readonly decision: Decision
  readonly gateway: GatewayRules | null
  /** Connectors of the gateway that the request may go to; several when the spec names no connector. */
  readonly connectors: readonly BoundConnector[]
  /** Environment of the target; conditions read it as `resource.environment`. */
  readonly environment: string | undefined
}

/** Decides the action under the given rules and the kill switches in force. Pure except for the clock. */
export function evaluateAction(
  deps: EvaluationDeps,
  given: {
    readonly rules: ActionRules
    readonly agent: AgentRow
    readonly spec: ActionSpec
    readonly trace?: boolean
  },
): Evaluated {
  const { rules, agent, spec } = given
  const place = placeOf(deps, rules, agent, spec)
  const options = given.trace === undefined ? {} : { trace: given.trace }
  const nowMs = deps.clock.nowMs()
  const bounds = boundsOf(place)
  const asked = { inForce: rulesFor(rules, place), agent, spec, nowMs, options }
  const decision = combineConnectors(
    place.connectors.map(({ entry }) => entry.name),
    bounds.map((bound) => decideAt({ ...place, bound }, asked)),
  )
  const entry = killOf(deps.kills(), agent, place)
  const [bound = null] = bounds
  const environment = shownEnvironment(inputOf({ ...place, bound }, agent, asked))
  return { ...place, environment, decision: entry === null ? decision : underKillSwitch(decision, entry) }
}

type Asked = {
  readonly inForce: DecisionRules
  readonly agent: AgentRow
  readonly spec: ActionSpec
  readonly nowMs: number
  readonly options: { readonly trace?: boolean }
}

/** Decides the action and each action that its parameters imply. Returns the strictest decision. */
function decideAt(place: BoundPlace, asked: Asked): Decision {
  const actions = withImpliedActions(place.action, place.bound)
  if (isRefusal(actions))
    return plainDecision('deny', 'deny', `The parameters: ${actions.detail}.`, 'default')
  const decisions = actions.map((action) => {
    const input = inputOf({ ...place, action }, asked.agent, asked)
    return decide(asked.inForce, input, asked.options)
  })
  return combineAll(
    actions.map(({ type }) => type),
    decisions,
  )
}

export type Place = Omit<Evaluated, 'decision' | 'environment'>

/**
 * Returns the connectors that the request may go to. Returns `[null]` for an action without a connector: the policies
 * alone decide such an action.
 */
function boundsOf({ connectors }: Place): ReadonlyArray<BoundConnector | null> {
  return connectors.length === 0 ? [null] : connectors
}

/** Returns the action of the spec, and the connectors of the agent's gateway through which the action may be sent. */
export function placeOf(
  { knownAction }: Pick<EvaluationDeps, 'knownAction'>,
  rules: ActionRules,
  agent: AgentRow,
  spec: ActionSpec,
): Place {
  const gateway = rules.gatewayOf(agent)
  const all = [...(gateway?.connectors.values() ?? [])].flat()
  const action = actionFromSpec(spec, knownByName(spec.type, knownAction, all))
  const records = gateway?.connectors.get(action.connector)
  if (gateway === null || records === undefined) return { action, gateway, connectors: [] }
  return {
    action,
    gateway,
    connectors: connectorsOfAction(records, executeSpec(action), gateway.snapshot.hosts),
  }
}

/** Converts the action to the form from which connectors build an HTTP request. */
export function executeSpec({ type, connector, parameters, resource }: Action): ExecuteSpec {
  return { type, parameters, resource: { ...resource, provider: connector } }
}

/**
 * Returns the kill switch that covers this action of this agent, or null. A kill switch for a Connector also covers
 * actions for which the provider reaches a host of this Connector.
 */
export function killOf(
  kills: readonly KillEntry[],
  agent: Pick<AgentRow, 'id' | 'name'>,
  place: Place | { readonly gateway: null; readonly action: Pick<Action, 'connector'> },
): KillEntry | null {
  if (kills.length === 0) return null
  const { gateway, action } = place
  const reached = place.gateway === null ? [] : reachedBy(place, place.gateway)
  const name = gateway?.snapshot.gateway.name ?? ''
  const records = gateway?.connectors.get(action.connector) ?? []
  return matchKill(entriesFor(kills, name), {
    gateway: name,
    agent: agent.name,
    agentId: agent.id,
    instance: null,
    connectors: [action.connector, ...records.map(({ entry }) => entry.name), ...reached],
  })
}

function reachedBy(place: Place, { snapshot }: GatewayRules): readonly string[] {
  return boundsOf(place).flatMap((bound) => {
    const actions = withImpliedActions(place.action, bound)
    return isRefusal(actions) ? [] : reachedConnectors(snapshot, actions)
  })
}

/**
 * Returns the rules that decide the action. Permissions apply when the agent's gateway has the connector; otherwise the
 * policies alone decide. The enforcement level of the gateway does not apply, because the v1 API returns advice and
 * forwards no traffic.
 */
function rulesFor(rules: ActionRules, { gateway, connectors }: Place): DecisionRules {
  return {
    permissions: connectors.length === 0 ? null : (gateway?.snapshot.permissions ?? null),
    policies: gateway?.snapshot.policies ?? rules.policies,
    level: null,
    defaultVerdict: gateway?.snapshot.gateway.defaultVerdict ?? 'deny',
  }
}

type BoundPlace = Place & { readonly bound: BoundConnector | null }

function inputOf(
  { action, gateway, bound }: BoundPlace,
  agent: AgentRow,
  { spec, nowMs }: { readonly spec: ActionSpec; readonly nowMs: number },
): DecisionInput {
  return {
    action,
    agent: agentFacts(agent),
    nowMs,
    ...(gateway === null ? {} : { gateway: named(gateway.snapshot.gateway) }),
    ...(bound === null ? {} : { connector: { ...named(bound.entry), type: bound.connector.name } }),
    ...(spec.context === undefined ? {} : { context: spec.context }),
    ...(gateway === null || bound === null ? {} : { reach: decideReach(gateway.snapshot, bound, action) }),
  }
}

function named({ name, environment }: { readonly name: string; readonly environment?: string | undefined }) {
  return environment === undefined ? { name } : { name, environment }
}

function agentFacts({ id, name, environment, runtime, status }: AgentRow): AgentFacts {
  return { id, name, environment, runtime, status }
}

/** Converts the decision to the `Decision` object of the v1 API (spec 2.3). */
export function decisionView({ verdict, reason, policies, riskScore, source }: Decision): DecisionView {
  return {
    outcome: OUTCOME[verdict],
    reason,
    // A kill switch is not a policy, so its decision has no matched policies.
    matched_policies: source === 'kill' ? [] : policies.map(policyId),
    risk_score: riskScore,
    constraints: null,
  }
}

/** Removes the version from a reference to a policy: `pol_…@version` becomes `pol_…`. */
function policyId(ref: string): string {
  return ref.split('@')[0] ?? ref
}
