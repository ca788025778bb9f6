import type { Action } from '../../core/action/action.ts'
import type { Exchange } from './exchange.ts'

/**
 * The action that stands for the exchange: of candidates the one that decided, the riskiest of several, the only one
 * otherwise.
 */
export function primaryAction({ actions, named, decision }: Exchange): Action | undefined {
  if (named?.kind === 'candidates') {
    const decisive = named.candidates.find(({ type }) => type === decision?.actionType)
    if (decisive !== undefined) return decisive
  }
  let primary = actions?.[0]
  if (actions === undefined || primary === undefined) return undefined
  for (const action of actions) if (RANK[action.risk] > RANK[primary.risk]) primary = action
  return primary
}

export function primaryType(exchange: Exchange): string | null {
  return primaryAction(exchange)?.type ?? null
}

const RANK = { low: 0, medium: 1, high: 2 } as const
