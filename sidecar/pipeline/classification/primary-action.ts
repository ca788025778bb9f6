import type { Action } from '../../../core/action/action.ts'
import type { Exchange } from '../exchange.ts'

/**
 * Returns the action that represents the exchange in records and refusals. Among candidates, and when a provider-side
 * action was not allowed, this is the action that determined the decision; otherwise the riskiest action of the request
 * itself.
 */
export function primaryAction({ actions, named, decision }: Exchange): Action | undefined {
  if (actions?.length === 1) return actions[0]
  if (named?.kind === 'candidates') {
    const decisive = named.candidates.find(({ type }) => type === decision?.actionType)
    if (decisive !== undefined) return decisive
  }
  const byProvider = decision?.verdict === 'allow' ? undefined : decidingProviderAction(actions, decision)
  if (byProvider !== undefined) return byProvider
  return riskiest(actions?.filter((action) => action.byProvider === undefined) ?? []) ?? actions?.[0]
}

function riskiest(actions: readonly Action[]): Action | undefined {
  let [first] = actions
  for (const action of actions)
    if (first === undefined || RANK[action.risk] > RANK[first.risk]) first = action
  return first
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
