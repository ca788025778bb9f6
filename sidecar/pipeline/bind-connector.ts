import { stripRequest } from '../../core/connectors/credentials/query-credentials.ts'
import { findConnector } from '../../core/connectors/registry.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Exchange } from './exchange.ts'
import { passesAgentCredential } from './outgoing.ts'

/**
 * Sets the connector that owns the host of the request, if there is one. Removes credentials from the query before
 * anything is classified or decided.
 */
export function bindConnector(exchange: Exchange, request: CanonicalRequest): void {
  const { snapshot } = exchange
  const bound = snapshot === undefined ? null : findConnector(snapshot.hosts, request.host, request.port)
  if (bound === null) return
  exchange.connector = bound
  if (exchange.kind === 'tunnel' || passesAgentCredential(exchange, bound)) return
  const stripped = stripRequest(request, bound)
  exchange.request = stripped.request
  if (stripped.losesOther) exchange.losesParameter = true
}
