import type { Snapshot } from '../../core/snapshot/snapshot.ts'
import type { LiveExchanges } from './live-exchanges.ts'

/**
 * Ends the streams and tunnels of agents that may not ask any more, and says so in their records: suspending an agent
 * would else leave it whatever it had opened before. What still waits for its answer is judged before it goes on.
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
    abort.abort(new Error('the agent may not ask any more'))
  }
}
