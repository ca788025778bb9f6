import { reachedConnectors } from '../../core/decision/provider-reach.ts'
import type { Exchange } from './exchange.ts'

/**
 * Returns the types and names of the Connectors of an exchange, as scopes of kill switches match them: the Connector
 * that owns the host of the request, and those whose hosts the provider reaches for the request. Empty until the
 * Connector is determined. Until the request is classified, only the Connector that owns the host.
 */
export function killNames({ connector, snapshot, actions }: Exchange): readonly string[] {
  if (connector === undefined) return []
  const own = [connector.connector.name, connector.entry.name]
  const reached = snapshot === undefined || actions === undefined ? [] : reachedConnectors(snapshot, actions)
  return reached.length === 0 ? own : [...own, ...reached]
}
