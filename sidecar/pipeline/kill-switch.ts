import type { KillEntry } from '../../core/wire/gateway/kill.ts'
import type { Exchange } from './exchange.ts'
import type { PipelinePorts } from './ports.ts'

/**
 * Returns the kill switch entry that covers this exchange, or null. While the connector is not determined, scopes of
 * connectors do not match.
 */
export function matchingKill(exchange: Exchange, ports: PipelinePorts): KillEntry | null {
  const { agent, connector } = exchange
  return ports.kill.match({
    agent: agent?.name ?? null,
    agentId: agent?.id ?? null,
    connectors: connector === undefined ? [] : [connector.connector.name, connector.entry.name],
  })
}

/** Returns the kill switch entry that cut this exchange, or null. */
export function killedBy(exchange: Exchange): KillEntry | null {
  const { signal } = exchange.abort
  return signal.aborted && isKillAbort(signal.reason) ? signal.reason.entry : null
}

function isKillAbort(reason: unknown): reason is { readonly kind: 'kill'; readonly entry: KillEntry } {
  return typeof reason === 'object' && reason !== null && 'kind' in reason && reason.kind === 'kill'
}
