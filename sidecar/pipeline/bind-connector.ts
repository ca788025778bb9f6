import { stripRequest } from '../../core/connectors/credentials/query-credentials.ts'
import { findConnector } from '../../core/connectors/registry.ts'
import { passesAgentCredential } from './outgoing.ts'
import { type Parsed, setConnector } from './phases.ts'

/**
 * Sets the connector that owns the host of the request under the current snapshot of the exchange, if there is one.
 * Removes credentials from the query before anything is classified or decided.
 */
export function bindConnector(exchange: Parsed): void {
  const { snapshot, read } = exchange
  const bound = findConnector(snapshot.hosts, read.host, read.port)
  if (bound === null || exchange.kind === 'tunnel' || passesAgentCredential(exchange, bound)) {
    setConnector(exchange, bound ?? undefined, { request: read, losesOther: false })
    return
  }
  setConnector(exchange, bound, stripRequest(read, bound))
}
