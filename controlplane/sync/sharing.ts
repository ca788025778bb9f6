import type { Census } from './census.ts'
import type { Peer } from './peer.ts'
import type { Roster } from './roster.ts'

/** Tells each process which agents it shares with others: the budget of such an agent is lent out, not counted alone. */
export type SharingCast = {
  /** Whoever came, left or was heard of. */
  look(): void
}

export function createSharingCast({
  roster,
  census,
}: {
  readonly roster: Roster
  readonly census: Pick<Census, 'elsewhere'>
}): SharingCast {
  return {
    look() {
      const crowds = crowdsOf([
        ...roster.peers.values(),
        ...census.elsewhere().map(({ gatewayId, facts }) => ({ gatewayId, agent: facts.agent ?? null })),
      ])
      for (const peer of roster.peers.values()) tell(peer, crowds.get(peer.gatewayId))
    },
  }
}

type Served = { readonly gatewayId: string; readonly agent: string | null }
/** The processes of one gateway: those that serve every agent, and the sidecars by their agent. */
type Crowd = { whole: number; readonly byAgent: Map<string, number> }
type Sharing = ReadonlyArray<{ readonly agent: string; readonly processes: number }>

/** Counted once for all: a gateway may have a thousand sidecars. */
function crowdsOf(processes: readonly Served[]): ReadonlyMap<string, Crowd> {
  const crowds = new Map<string, Crowd>()
  for (const { gatewayId, agent } of processes) {
    const crowd = crowds.get(gatewayId) ?? { whole: 0, byAgent: new Map() }
    crowds.set(gatewayId, crowd)
    if (agent === null) crowd.whole += 1
    else crowd.byAgent.set(agent, (crowd.byAgent.get(agent) ?? 0) + 1)
  }
  return crowds
}

function tell(peer: Peer, crowd: Crowd | undefined): void {
  const agents = crowd === undefined ? [] : sharingOf(peer, crowd)
  const text = JSON.stringify(agents)
  if (text === peer.sentSharing) return
  peer.sentSharing = text
  peer.send({ type: 'quota', agents: [...agents] })
}

function sharingOf({ agent }: Served, { whole, byAgent }: Crowd): Sharing {
  if (agent !== null) return shared([[agent, whole + (byAgent.get(agent) ?? 0)]])
  const all: Sharing = whole > 1 ? [{ agent: '*', processes: whole }] : []
  return [...all, ...shared([...byAgent].map(([name, count]) => [name, whole + count]))]
}

function shared(counts: ReadonlyArray<readonly [agent: string, processes: number]>): Sharing {
  return counts.filter(([, processes]) => processes > 1).map(([agent, processes]) => ({ agent, processes }))
}
