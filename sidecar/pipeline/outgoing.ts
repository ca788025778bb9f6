import type { AuthScheme, OutboundEdit } from '../../core/connectors/connector.ts'
import { connectorScheme } from '../../core/connectors/credentials/connector-scheme.ts'
import { stripCredentials, withoutReplaced } from '../../core/connectors/credentials/credentials.ts'
import type { BoundConnector } from '../../core/connectors/registry.ts'
import type { CanonicalRequest } from '../../core/request/canonical.ts'
import type { Exchange } from './exchange.ts'
import type { Loaded, Parsed } from './phases.ts'
import type { NarrowedSecret } from './ports.ts'

/** Outbound headers and target of a request. `injected` is the credential to inject; null when none is injected. */
export type Outgoing = {
  readonly edit: OutboundEdit
  readonly injected: { readonly secret: string; readonly scheme: AuthScheme } | null
  /** True when the agent's own credential is forwarded. The body is then not searched for credentials. */
  readonly passesAgentCredential: boolean
}

/** Returns the outbound headers and target, without the agent's own credentials. Approvals are bound to this result. */
export function outgoingOf(exchange: Parsed, bound: BoundConnector): Outgoing {
  const { request } = exchange
  const edit: OutboundEdit = { rawHeaders: [...request.rawHeaders], rawTarget: request.rawTarget }
  const secret = sentTokenOf(exchange)?.secret ?? bound.entry.secret
  if (passesAgentCredential(exchange, bound)) return { edit, injected: null, passesAgentCredential: true }
  stripCredentials(edit, bound.connector, bound.entry.keepQuery)
  if (secret === null || injectsNone(bound, request))
    return { edit, injected: null, passesAgentCredential: false }
  const scheme = connectorScheme(bound)
  edit.rawHeaders = withoutReplaced(edit.rawHeaders, scheme)
  return { edit, injected: { secret, scheme }, passesAgentCredential: false }
}

/**
 * Returns true when the agent's own credential is forwarded: at the enforcement level `monitor`, for a connector
 * without a credential. A connector with minted credentials counts as having one, even while the source of the
 * credentials fails.
 */
export function passesAgentCredential(
  { snapshot }: Pick<Loaded, 'snapshot'>,
  bound: BoundConnector,
): boolean {
  const { secret, minted } = bound.entry
  const isMissing = secret === null && minted === undefined && connectorScheme(bound).type !== 'none'
  return snapshot.gateway.level === 'monitor' && isMissing
}

/** Returns true when the request is sent without the credential of the connector. */
export function injectsNone(bound: BoundConnector, request: CanonicalRequest): boolean {
  const { connector, config } = bound
  if (connectorScheme(bound).type === 'none') return true
  return !request.isUpgrade && connector.needsNoCredential?.(request, config) === true
}

/**
 * Returns the narrowed token with which the exchange is sent; null when it is sent with the credential of the
 * connector.
 */
export function sentTokenOf({ narrowed }: Exchange): NarrowedSecret | null {
  return narrowed?.kind === 'token' ? narrowed.token : null
}
