import type { AgentEntry } from '../../core/wire/gateway/sync.ts'

/** Request of the gateway itself that cancels work of an agent at a provider. */
export type SystemOrder = {
  /** The agent when the work started. The agent may be suspended or deleted since. */
  readonly agent: AgentEntry
  /** Connector through which the work was started. The request is sent only through this connector. */
  readonly connectorId: string
  /** Scope of the kill switch that causes the request. */
  readonly scope: string
}
