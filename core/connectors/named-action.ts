import {
  type Action,
  type Effect,
  type Parameters,
  type Resource,
  type RiskLevel,
  unmappedType,
} from '../action/action.ts'
import type { EffectClass } from '../action/effect-class.ts'
import { type CanonicalRequest, isRefusal, type Refusal } from '../request/canonical.ts'
import type { Classification, ConnectorConfig, Named } from './connector.ts'

const READ_METHODS = new Set(['GET', 'HEAD', 'OPTIONS'])

export type ActionParts = {
  readonly connector: string
  readonly type: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly target?: string | undefined
  readonly account?: string | undefined
  readonly parameters?: Parameters
  readonly hints?: Readonly<Record<string, boolean>> | undefined
  readonly effects?: readonly EffectClass[] | undefined
}

/** Builds an action. Its resource includes the environment of the connector. */
export function namedAction(parts: ActionParts, config: ConnectorConfig): Action {
  const resource: Resource = {
    provider: parts.connector,
    ...(parts.account === undefined ? {} : { account: parts.account }),
    ...(parts.target === undefined ? {} : { target: parts.target }),
    ...(config.environment === undefined ? {} : { environment: config.environment }),
  }
  const { type, connector, effect, risk } = parts
  return {
    type,
    connector,
    effect,
    risk,
    resource,
    parameters: parts.parameters ?? {},
    riskHints: parts.hints ?? {},
    ...(parts.effects === undefined ? {} : { effects: parts.effects }),
  }
}

export function oneAction(action: Action): Classification {
  return { kind: 'actions', actions: [action] }
}

/**
 * Returns the classification of a request whose action the body does not determine. If several actions are possible,
 * they become candidates with `settledBy: 'server'`, because only the server determines the action.
 */
export function settledByServer(candidates: readonly Action[]): Named {
  return candidates.length === 1
    ? { kind: 'actions', actions: candidates }
    : { kind: 'candidates', candidates, settledBy: 'server' }
}

/** Returns every action that a classified request may perform. */
export function actionsOf(named: Named): readonly Action[] {
  return named.kind === 'actions' ? named.actions : named.candidates
}

/** Applies a rule about classified requests to an action that was submitted by its name. */
export function actionsBy(
  action: Action,
  rule: (named: Classification) => Classification,
): readonly Action[] | Refusal {
  const named = rule(oneAction(action))
  return isRefusal(named) ? named : actionsOf(named)
}

export function effectOfMethod(method: string): Effect {
  return READ_METHODS.has(method) ? 'read' : 'write'
}

/**
 * Returns the action `<connector>.unmapped.<method>`: medium risk for reads, high for all others. HEAD counts as GET.
 */
export function unmappedAction(
  connector: string,
  request: CanonicalRequest,
  config: ConnectorConfig,
): Action {
  const effect = effectOfMethod(request.method)
  const risk: RiskLevel = effect === 'read' ? 'medium' : 'high'
  const type = unmappedType(connector, request.method === 'HEAD' ? 'GET' : request.method)
  const target = request.host + request.rawPath
  return { ...namedAction({ connector, type, effect, risk, target }, config), unmapped: true }
}
