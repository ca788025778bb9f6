import type { EffectClass } from './effect-class.ts'

/** What a request does to its upstream: `compute` costs but changes nothing there (a model call). */
export type Effect = 'read' | 'compute' | 'write'

export type RiskLevel = 'low' | 'medium' | 'high'

/** Who is acted upon. `target` is `<owner>/<repo>` on the code host (spec 2.1). */
export type Resource = {
  readonly provider: string
  readonly account?: string
  readonly target?: string
  readonly environment?: string
}

export type Parameters = Readonly<Record<string, unknown>>

/**
 * `kind` is the end of the action's type. `reaches`: the host that the provider would connect to; `unreadable` where
 * servers could disagree about it, `unread` where it stands in what the gateway does not read; null where the request
 * names none.
 */
export type ProviderSideEffect = {
  readonly kind: string
  readonly reaches: { readonly host: string; readonly port: number } | 'unreadable' | 'unread' | null
}

/** A named action: the one thing that permissions, policies, approvals and records speak about. */
export type Action = {
  /** `provider.resource.verb`, e.g. `codehost.pr.merge`. */
  readonly type: string
  /** The connector type that named it, e.g. `codehost`. */
  readonly connector: string
  readonly effect: Effect
  readonly risk: RiskLevel
  readonly resource: Resource
  readonly parameters: Parameters
  readonly riskHints: Readonly<Record<string, boolean>>
  /** The request does it besides the operation that names it, and no action spec can ask for it alone. */
  readonly isBeside?: true
  /** The request alone does not tell whether it does this. It counts as done until a look-up settles it. */
  readonly isPossible?: true
  /** Effect classes beside those of its name: what this request adds, or what a Connector declares. */
  readonly effects?: readonly EffectClass[]
  /** Why the action has this name and not a milder one, as a sentence; part of the decision's reason. */
  readonly nameReason?: string
  /** Set where the provider does it on behalf of the request. */
  readonly byProvider?: ProviderSideEffect
  /** True for `<connector>.unmapped.<method>`: no catalogue row describes the request. */
  readonly unmapped?: boolean
}

/** True for what a request does, or makes its provider do, besides the operation that names it. */
export function isBeside(action: Pick<Action, 'isBeside' | 'byProvider'>): boolean {
  return action.isBeside === true || action.byProvider !== undefined
}

/** The type of a request that no row describes. */
export function unmappedType(connector: string, method: string): string {
  return `${connector}.unmapped.${method.toLowerCase()}`
}

export function isUnmapped(type: string): boolean {
  return /^[^.]+\.unmapped\.[^.]+$/.test(type)
}
