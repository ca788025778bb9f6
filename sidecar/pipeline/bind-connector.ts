import { stripRequest } from '../../core/connectors/credentials/query-credentials.ts'
import { findConnector } from '../../core/connectors/registry.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Exchange } from './exchange.ts'
import { passesAgentCredential } from './outgoing.ts'

/**
 * Sets the connector that owns the host of the request under the current snapshot of the exchange, if there is one.
 * Removes credentials from the query before anything is classified or decided.
 */
export function bindConnector(exchange: Exchange, read: CanonicalRequest): void {
  const { snapshot } = exchange
  const bound = snapshot === undefined ? null : findConnector(snapshot.hosts, read.host, read.port)
  exchange.connector = bound ?? undefined
  if (bound === null || exchange.kind === 'tunnel' || passesAgentCredential(exchange, bound)) {
    exchange.request = read
    exchange.losesParameter = false
    return
  }
  const { request, losesOther } = stripRequest(read, bound)
  exchange.request = request
  exchange.losesParameter = losesOther
}
