import type { EffectClass } from './effect-class.ts'

/**
 * Effect of a request on its upstream. `compute`: costs money but changes nothing at the upstream, such as a model
 * call.
 */
export type Effect = 'read' | 'compute' | 'write'

export type RiskLevel = 'low' | 'medium' | 'high'

/** Resource that an action affects. On the code host, `target` is `<owner>/<repo>` (spec 2.1). */
export type Resource = {
  readonly provider: string
  readonly account?: string
  readonly target?: string
  readonly environment?: string
}

export type Parameters = Readonly<Record<string, unknown>>

/**
 * Action that the provider performs on behalf of the request. `kind` is the last part of the action's type. `reaches`
 * is the host that the provider connects to, or one of three other values. `unreadable`: servers could disagree about
 * the host. `unread`: the host is in a part of the request that the gateway does not read. Null: the request names no
 * host.
 */
export type ProviderSideEffect = {
  readonly kind: string
  readonly reaches: { readonly host: string; readonly port: number } | 'unreadable' | 'unread' | null
}

/** Named action. Permissions, policies, approvals and records all refer to actions. */
export type Action = {
  /** Name of the action, as `provider.resource.verb`, such as `codehost.pr.merge`. */
  readonly type: string
  /** Type of the connector that classified the request, such as `codehost`. */
  readonly connector: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly resource: Resource
  readonly parameters: Parameters
  readonly riskHints: Readonly<Record<string, boolean>>
  /**
   * True if the request performs this action in addition to its named operation. An action spec cannot request this
   * action on its own.
   */
  readonly isBeside?: true
  /**
   * True if the request alone does not determine whether this action happens. The action counts as happening until a
   * look-up at the provider settles the question.
   */
  readonly isPossible?: true
  /** True if the provider performs the action later, in a state that no look-up can read in advance. */
  readonly isDeferred?: true
  /**
   * Effect classes that fields of this request add, or that a Connector declares. They add to the classes of the
   * action's name.
   */
  readonly effects?: readonly EffectClass[]
  /**
   * Effect classes that the request may have. They count as classes of the action until a look-up at the provider
   * settles the question.
   */
  readonly possibleEffects?: readonly EffectClass[]
  /**
   * Sentence that explains why the action has this name and not a less severe one. The reason of the decision includes
   * this sentence.
   */
  readonly nameReason?: string
  /** Set if the provider performs the action on behalf of the request. */
  readonly byProvider?: ProviderSideEffect
  /** True for `<connector>.unmapped.<method>`: no catalogue row describes the request. */
  readonly unmapped?: boolean
}

/** Reports whether the request, or its provider, performs the action in addition to the named operation. */
export function isBeside(action: Pick<Action, 'isBeside' | 'byProvider'>): boolean {
  return action.isBeside === true || action.byProvider !== undefined
}

/** Returns the action type for a request that no catalogue row describes. */
export function unmappedType(connector: string, method: string): string {
  return `${connector}.unmapped.${method.toLowerCase()}`
}

export function isUnmapped(type: string): boolean {
  return /^[^.]+\.unmapped\.[^.]+$/.test(type)
}
