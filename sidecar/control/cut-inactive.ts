import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { LiveExchanges } from './live-exchanges.ts'

/**
 * Aborts the responses, streams and tunnels in progress of agents that are suspended or deleted, and writes the reason
 * into their records. Without the abort, these agents would keep their open connections. A request that is not
 * forwarded yet is not aborted, because the pipeline decides about it again. A forwarded request whose response has not
 * begun still gets its response, because its effect has happened.
 */
export function cutInactive(
  live: Pick<LiveExchanges, 'all'>,
  { agentsByName }: Pick<Snapshot, 'agentsByName'>,
): void {
  for (const { agent, abort, outcome, reply } of live.all()) {
    if (agent === undefined || !reply.isStarted || abort.signal.aborted) continue
    const now = agentsByName.get(agent.name)
    if (now?.id === agent.id && now.status === 'active') continue
    outcome.note ??= `agent ${now?.id === agent.id ? now.status : 'removed'}`
    abort.abort(new Error('the agent was suspended or revoked'))
  }
}
