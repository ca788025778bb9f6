import type { Socket } from 'node:net'

export type QuotaLimits = {
  /** Maximum number of authenticated connections, all agents together. */
  readonly maxConnections: number
  readonly maxConnectionsPerAgent: number
  /** Maximum number of CONNECT tunnels. Each tunnel also counts as a connection. */
  readonly maxTunnelsPerAgent: number
  /**
   * Maximum number of connections that have not presented an agent's key yet, including those of probes and scrapers.
   */
  readonly maxUnauthenticated: number
  readonly unauthenticatedTimeoutMs: number
}

/** Name of the setting whose limit is reached. */
export type QuotaName =
  | 'MAX_CONNECTIONS'
  | 'MAX_CONNECTIONS_PER_AGENT'
  | 'MAX_TUNNELS_PER_AGENT'
  | 'MAX_UNAUTHENTICATED_CONNECTIONS'

/** Reports a refusal or eviction by a quota. `agent` is null for an unauthenticated connection. */
export type OnQuota = (agent: string | null, name: QuotaName) => void

export type QuotaConnection = { readonly socket: Socket; drain: () => void }

/** Counts one connection against the quotas of the gateway and of its agent. */
export type Slot = {
  /**
   * Counts the connection for the agent. Returns the reason when the quota of the agent or of the gateway is used up,
   * else null. When the quota of the gateway is used up, the gateway first closes the oldest connection of the agent
   * with the most connections. It closes no connection if that agent would then have fewer connections than the agent
   * of the new connection.
   */
  claim(agent: string): string | null
  /**
   * Counts the connection as a tunnel of its agent until it closes or `endTunnel` is called. Returns the reason when
   * the quota is used up, else null.
   */
  tunnel(): string | null
  endTunnel(): void
  /**
   * Marks a connection whose caller presented the token of the internal API. A marked connection counts for no agent
   * and is never evicted.
   */
  trust(): void
}

export type Quotas = {
  /** Counts a new connection as unauthenticated. At the limit, evicts the oldest unauthenticated connection. */
  open(connection: QuotaConnection): Slot
  /** Closes connections that did not authenticate in time. */
  sweep(nowMs: number): void
  /** Number of open connections, authenticated or not. */
  readonly size: number
}

type State = {
  readonly connection: QuotaConnection
  readonly openedMs: number
  kind: 'unauthenticated' | 'agent' | 'trusted' | 'closed'
  agent: string
  isTunnel: boolean
  isDraining: boolean
}

/** Time in milliseconds that an evicted connection has to finish before it is destroyed. */
const GRACE_MS = 5_000
/** Maximum number of connections with the token of the internal API. Further ones count as unauthenticated. */
const MAX_TRUSTED = 32

/**
 * Creates the connection quotas. Unauthenticated connections have a quota of their own. When that quota is used up, a
 * new connection evicts the oldest unauthenticated connection. The gateway therefore always accepts probes, scrapers
 * and clients that present their key immediately.
 */
export function createQuotas(limits: QuotaLimits, onQuota: OnQuota): Quotas {
  /** Unauthenticated connections in the order of arrival, oldest first. */
  const unauthenticated = new Set<State>()
  const agents = createAgentCounts(limits, onQuota, endSoon)
  let trusted = 0

  function endSoon(state: State): void {
    release(state)
    state.connection.drain()
    setTimeout(() => state.connection.socket.destroy(), GRACE_MS).unref()
  }

  function evictOldest(): void {
    const [oldest] = unauthenticated
    if (oldest === undefined) return
    onQuota(null, 'MAX_UNAUTHENTICATED_CONNECTIONS')
    release(oldest)
    oldest.connection.socket.destroy()
  }

  function release(state: State): void {
    unauthenticated.delete(state)
    if (state.kind === 'agent') agents.remove(state)
    if (state.kind === 'trusted') trusted--
    state.kind = 'closed'
    state.isTunnel = false
  }

  function claim(state: State, agent: string): string | null {
    if (state.kind === 'closed' || (state.kind === 'agent' && state.agent === agent)) return null
    const refusal = agents.admit(agent, state.kind === 'agent')
    if (refusal !== null) return refusal
    release(state)
    state.kind = 'agent'
    state.agent = agent
    agents.enter(state)
    return null
  }

  function trust(state: State): void {
    if (state.kind !== 'unauthenticated' || trusted >= MAX_TRUSTED) return
    release(state)
    state.kind = 'trusted'
    trusted++
  }

  return {
    get size() {
      return unauthenticated.size + agents.total + trusted
    },
    open(connection) {
      if (unauthenticated.size >= limits.maxUnauthenticated) evictOldest()
      const openedMs = performance.now()
      const unclaimed = { kind: 'unauthenticated', agent: '', isTunnel: false, isDraining: false } as const
      const state: State = { connection, openedMs, ...unclaimed }
      unauthenticated.add(state)
      connection.socket.once('close', () => release(state))
      return {
        claim: (agent) => claim(state, agent),
        tunnel: () => agents.addTunnel(state),
        endTunnel: () => agents.removeTunnel(state),
        trust: () => trust(state),
      }
    },
    sweep(nowMs) {
      const dueMs = nowMs - limits.unauthenticatedTimeoutMs
      for (const state of unauthenticated) {
        if (state.openedMs > dueMs) return
        endOverdue(state, dueMs)
      }
    },
  }
}

function endOverdue(state: State, dueMs: number): void {
  if (state.openedMs + GRACE_MS <= dueMs) state.connection.socket.destroy()
  else if (!state.isDraining) {
    state.isDraining = true
    state.connection.drain()
  }
}

/** Connections and number of tunnels of one agent. `connections` is in the order of arrival, oldest first. */
type Counts = { readonly connections: Set<State>; tunnels: number }
const ADVICE = 'Close unused connections, or try again in a second.'

/**
 * Counts connections and tunnels of each agent and enforces their limits. `admit` and `addTunnel` return the reason of
 * a refusal, else null. `end` closes a connection in favor of an agent with fewer connections, so that a few agents
 * cannot use all connections.
 */
function createAgentCounts(limits: QuotaLimits, onQuota: OnQuota, end: (state: State) => void) {
  const agents = new Map<string, Counts>()
  let total = 0

  function refused(agent: string, name: QuotaName, what: string): string {
    onQuota(agent, name)
    return `${what} (${name}). ${ADVICE}`
  }

  function largestAgent(): readonly [agent: string, counts: Counts | undefined] {
    let found: readonly [string, Counts | undefined] = ['', undefined]
    for (const [agent, counts] of agents) {
      if (counts.connections.size > (found[1]?.connections.size ?? 0)) found = [agent, counts]
    }
    return found
  }

  return {
    get total() {
      return total
    },
    /**
     * Returns null when the agent may have one more connection, else the reason. May close a connection of another
     * agent. `isCounted` is true when the connection already counts for another agent.
     */
    admit(agent: string, isCounted: boolean): string | null {
      const own = agents.get(agent)?.connections.size ?? 0
      if (own >= limits.maxConnectionsPerAgent) {
        const what = `Agent "${agent}" has ${own} open connections, as many as one agent may have`
        return refused(agent, 'MAX_CONNECTIONS_PER_AGENT', what)
      }
      if (isCounted || total < limits.maxConnections) return null
      const [largest, counts] = largestAgent()
      const [oldest] = counts?.connections ?? []
      if (counts === undefined || oldest === undefined || counts.connections.size <= own + 1)
        return refused(agent, 'MAX_CONNECTIONS', `This gateway has no free connections: ${total} are open`)
      onQuota(largest, 'MAX_CONNECTIONS')
      end(oldest)
      return null
    },
    enter(state: State): void {
      const counts = agents.get(state.agent) ?? { connections: new Set(), tunnels: 0 }
      counts.connections.add(state)
      total++
      agents.set(state.agent, counts)
    },
    remove(state: State): void {
      const counts = agents.get(state.agent)
      if (counts?.connections.delete(state) !== true) return
      total--
      if (state.isTunnel) counts.tunnels--
      if (counts.connections.size === 0) agents.delete(state.agent)
    },
    addTunnel(state: State): string | null {
      const { agent } = state
      const counts = agents.get(agent)
      if (state.kind !== 'agent' || state.isTunnel || counts === undefined) return null
      if (counts.tunnels >= limits.maxTunnelsPerAgent) {
        const what = `Agent "${agent}" has ${counts.tunnels} open tunnels, as many as one agent may have`
        return refused(agent, 'MAX_TUNNELS_PER_AGENT', what)
      }
      counts.tunnels++
      state.isTunnel = true
      return null
    },
    removeTunnel(state: State): void {
      const counts = agents.get(state.agent)
      if (!state.isTunnel || counts === undefined) return
      counts.tunnels--
      state.isTunnel = false
    },
  }
}
