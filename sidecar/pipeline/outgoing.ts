import type { AuthScheme, OutboundEdit } from '../../core/connectors/connector.ts'
import { stripCredentials, withoutReplaced } from '../../core/connectors/credentials/credentials.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { ConnectorEntry } from '../../core/wire/gateway/sync.ts'
import type { Exchange } from './exchange.ts'

/** Outbound headers and target of a request. `injected` is the credential to inject; null when none is injected. */
export type Outgoing = {
  readonly edit: OutboundEdit
  readonly injected: { readonly secret: string; readonly scheme: AuthScheme } | null
  /** True when the agent's own credential is forwarded. The body is then not searched for credentials. */
  readonly passesAgentCredential: boolean
}

/** Returns the outbound headers and target, without the agent's own credentials. Approvals are bound to this result. */
export function outgoingOf(exchange: Exchange, bound: BoundConnector, request: CanonicalRequest): Outgoing {
  const edit: OutboundEdit = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
  const { secret } = bound.entry
  const scheme = connectorScheme(bound)
  if (passesAgentCredential(exchange, bound)) return { edit, injected: null, passesAgentCredential: true }
  stripCredentials(edit, bound.connector, bound.entry.keepQuery)
  if (secret === null || scheme.type === 'none' || needsNone(bound, request))
    return { edit, injected: null, passesAgentCredential: false }
  edit.rawHeaders = withoutReplaced(edit.rawHeaders, scheme)
  return { edit, injected: { secret, scheme }, passesAgentCredential: false }
}

/**
 * Returns true when the agent's own credential is forwarded: at the enforcement level `monitor`, for a connector
 * without a credential.
 */
export function passesAgentCredential({ snapshot }: Exchange, bound: BoundConnector): boolean {
  const isMissing = bound.entry.secret === null && connectorScheme(bound).type !== 'none'
  return snapshot?.gateway.level === 'monitor' && isMissing
}

function needsNone({ connector, config }: BoundConnector, request: CanonicalRequest): boolean {
  return !request.isUpgrade && connector.needsNoCredential?.(request, config) === true
}

/**
 * Returns the authentication scheme of the connector. The default of the connector's type completes the scheme of its
 * entry.
 */
export function connectorScheme({ entry, connector }: BoundConnector): AuthScheme {
  const { type, header, username } = entry.auth
  if (type === 'header') {
    const fallback = connector.defaultAuth.type === 'header' ? connector.defaultAuth.header : 'Authorization'
    return { type, header: header ?? fallback }
  }
  return type === 'basic' && username !== undefined ? { type, username } : plain(type)
}

function plain(type: Exclude<ConnectorEntry['auth']['type'], 'header'>): AuthScheme {
  return { type }
}
