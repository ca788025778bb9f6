import type { Action } from '../../core/action/action.ts'
import type { Exchange } from './exchange.ts'

/**
 * The action that stands for the exchange: the one that decided, of candidates and where it is the provider's; else the
 * riskiest of several, and the only one otherwise.
 */
export function primaryAction({ actions, named, decision }: Exchange): Action | undefined {
  if (named?.kind === 'candidates') {
    const decisive = named.candidates.find(({ type }) => type === decision?.actionType)
    if (decisive !== undefined) return decisive
  }
  const byProvider = decision?.verdict === 'allow' ? undefined : decidingProviderAction(actions, decision)
  if (byProvider !== undefined) return byProvider
  let primary = actions?.[0]
  if (actions === undefined || primary === undefined) return undefined
  for (const action of actions) if (RANK[action.risk] > RANK[primary.risk]) primary = action
  return primary
}

function decidingProviderAction(
  actions: Exchange['actions'],
  decision: Exchange['decision'],
): Action | undefined {
  return actions?.find(({ type, byProvider }) => byProvider !== undefined && type === decision?.actionType)
}

export function primaryType(exchange: Exchange): string | null {
  return primaryAction(exchange)?.type ?? null
}

const RANK = { low: 0, medium: 1, high: 2 } as const
