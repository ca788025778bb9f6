import type { AgentEntry } from '../../core/wire/gateway/sync.ts'

/** Request of the gateway itself, without a decision about an agent. */
export type SystemOrder = CancelOrder | CredentialTestOrder

/** Request that cancels work of an agent at a provider, because of a kill switch. */
export type CancelOrder = {
  readonly kind: 'cancel'
  /** The agent when the work started. The agent may be suspended or deleted since. */
  readonly agent: AgentEntry
  /** Connector through which the work was started. The request is sent only through this connector. */
  readonly connectorId: string
  /** Scope of the kill switch that causes the request. */
  readonly scope: string
}

/**
 * Read with which a user tests the credential of a connector. A kill switch that covers the connector, the gateway or
 * everything refuses the read.
 */
export type CredentialTestOrder = { readonly kind: 'credential_test'; readonly connectorId: string }
