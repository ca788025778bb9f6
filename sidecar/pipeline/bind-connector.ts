import { findConnector } from '../../core/connectors/registry.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Exchange } from './exchange.ts'

/** Finds who owns the host in the exchange's snapshot; nobody leaves it without a connector. */
export function bindConnector(exchange: Exchange, request: CanonicalRequest): void {
  const { snapshot } = exchange
  const bound = snapshot === undefined ? null : findConnector(snapshot.hosts, request.host, request.port)
  if (bound !== null) exchange.connector = bound
}
