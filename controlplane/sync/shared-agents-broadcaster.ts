import type { Clock } from '../../core/state/clock.ts'
import type { Peer } from './peer.ts'
import type { PeerRegistry } from './peer-registry.ts'
import type { ProcessRegistry } from './processes/registry.ts'
import { Throttle } from './throttle.ts'

/**
 * Sends each process the agents that it shares with other processes. For a shared agent, a process takes
 * quota leases from the control plane instead of counting the requests itself.
 */
export type SharedAgentsBroadcaster = Disposable & {
  /**
   * Sends changed lists of shared agents. Must be called when a process connects, disconnects or is reported by another
   * replica. Counts all processes, so calls in quick succession are merged.
   */
  broadcast(): void
}

const MAX_PAUSE_MS = 1_000

export function createSharedAgentsBroadcaster({
  peerRegistry,
  processRegistry,
  clock,
}: {
  readonly peerRegistry: PeerRegistry
  readonly processRegistry: Pick<ProcessRegistry, 'elsewhere'>
  readonly clock: Clock
}): SharedAgentsBroadcaster {
  const throttle = new Throttle({ work: send, clock, maxPauseMs: MAX_PAUSE_MS })
  function send(): void {
    const counts = servingCountsOf([
      ...peerRegistry.peers.values(),
      ...processRegistry
        .elsewhere()
        .map(({ gatewayId, facts }) => ({ gatewayId, agent: facts.agent ?? null })),
    ])
    for (const peer of peerRegistry.peers.values()) tell(peer, counts.get(peer.gatewayId))
  }
  return { broadcast: () => throttle.request(), [Symbol.dispose]: () => throttle[Symbol.dispose]() }
}

type Served = { readonly gatewayId: string; readonly agent: string | null }
/** Numbers of processes of one gateway. `whole`: processes that serve every agent. `byAgent`: sidecars by agent. */
type ServingCounts = { whole: number; readonly byAgent: Map<string, number> }
type Sharing = ReadonlyArray<{ readonly agent: string; readonly processes: number }>

/** Counts all processes in one pass, because a gateway may have a thousand sidecars. */
function servingCountsOf(processes: readonly Served[]): ReadonlyMap<string, ServingCounts> {
  const counts = new Map<string, ServingCounts>()
  for (const { gatewayId, agent } of processes) {
    const count = counts.get(gatewayId) ?? { whole: 0, byAgent: new Map() }
    counts.set(gatewayId, count)
    if (agent === null) count.whole += 1
    else count.byAgent.set(agent, (count.byAgent.get(agent) ?? 0) + 1)
  }
  return counts
}

function tell(peer: Peer, count: ServingCounts | undefined): void {
  const agents = count === undefined ? [] : sharingOf(peer, count)
  const text = JSON.stringify(agents)
  if (text === peer.sentSharing) return
  peer.sentSharing = text
  peer.send({ type: 'quota', agents: [...agents] })
}

function sharingOf({ agent }: Served, { whole, byAgent }: ServingCounts): Sharing {
  if (agent !== null) return shared([[agent, whole + (byAgent.get(agent) ?? 0)]])
  const all: Sharing = whole > 1 ? [{ agent: '*', processes: whole }] : []
  return [...all, ...shared([...byAgent].map(([name, count]) => [name, whole + count]))]
}

function shared(counts: ReadonlyArray<readonly [agent: string, processes: number]>): Sharing {
  return counts.filter(([, processes]) => processes > 1).map(([agent, processes]) => ({ agent, processes }))
}
