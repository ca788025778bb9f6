import type { Action } from '../../action/action.ts'
import { isRefusal, type Refusal } from '../../request/canonical.ts'
import { withAgentTriggers } from '../effects/fields/agent-triggers.ts'
import { type BoundConnector, BUILT_IN } from '../registry.ts'

/**
 * Returns an action submitted by name, with the risk and effect classes that its parameters add, and the further
 * actions that a request with these parameters has. `bound`: the connector of the action; null if there is none.
 */
export function withImpliedActions(
  action: Action,
  bound: BoundConnector | null,
): readonly Action[] | Refusal {
  const connector = bound?.connector ?? BUILT_IN.find(({ name }) => name === action.connector)
  const config = bound?.config ?? { name: action.connector, domains: [], actions: [] }
  const actions = connector?.impliedActions?.(action, config) ?? [action]
  if (isRefusal(actions)) return actions
  const triggers = bound?.entry.agentTriggers
  return triggers === undefined ? actions : withAgentTriggers(actions, triggers)
}
