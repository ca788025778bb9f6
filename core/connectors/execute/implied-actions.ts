import type { Action } from '../../action/action.ts'
import { isRefusal, type Refusal } from '../../request/canonical.ts'
import { withAgentTriggers } from '../effects/fields/agent-triggers.ts'
import { type BoundConnector, BUILT_IN } from '../registry.ts'

/**
 * Returns an action submitted by name, and the further actions that its parameters cause at the provider. `bound`: the
 * connector of the action; null if there is none.
 */
export function withImpliedActions(
  action: Action,
  bound: BoundConnector | null,
): readonly Action[] | Refusal {
  const connector = bound?.connector ?? BUILT_IN.find(({ name }) => name === action.connector)
  const config = bound?.config ?? { name: action.connector, domains: [], actions: [] }
  const implied = connector?.impliedActions?.(action, config) ?? []
  if (isRefusal(implied)) return implied
  const triggers = bound?.entry.agentTriggers
  return triggers === undefined ? [action, ...implied] : withAgentTriggers([action, ...implied], triggers)
}
