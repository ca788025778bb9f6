import type { Server, Socket } from 'node:net'
import { networkOf } from '../features/sessions/attempts.ts'
import type { Principal } from './route.ts'

/**
 * Limits the connections of each authenticated caller. Unauthenticated connections share a separate limit. When this
 * limit is reached, the oldest connection of the network with the most unauthenticated connections is closed. A
 * network is an IPv4 address or an IPv6 /64 prefix.
 */
export type ConnectionLimits = {
  /**
   * Assigns the connection of an authenticated request to its principal. When the principal exceeds its limit, closes
   * the oldest connection of the principal.
   */
  authenticated(socket: Socket, principal: Principal): void
}

export type ConnectionLimitOptions = {
  /** Maximum number of connections of the server. Node closes further connections after accept. */
  readonly maxConnections: number
  readonly maxUnauthenticated: number
  /**
   * Maximum number of connections of one agent, pod or user. The same limit applies to the operator and to the caller
   * with the maintenance secret (`MAINTENANCE_SECRET`).
   */
  readonly maxPerPrincipal: number
  /**
   * Maximum number of connections of one gateway outside pods. The processes of a gateway share one token. Each process
   * opens up to 25 connections: a stream, and 8 connections in each of three pools.
   */
  readonly maxPerGateway: number
}

export const CONNECTION_LIMITS: ConnectionLimitOptions = {
  maxConnections: 50_000,
  maxUnauthenticated: 2_000,
  maxPerPrincipal: 256,
  maxPerGateway: 2_000,
}

/** An open connection. `owner` is the key of the authenticated principal; null before authentication. */
type State = { readonly socket: Socket; readonly network: string; owner: string | null }

export function limitConnections(server: Server, options: ConnectionLimitOptions): ConnectionLimits {
  // Open connections by their addresses and ports. The key cannot be the socket: with TLS, the socket of a request is
  // not the socket of the `connection` event, but both have the same addresses and ports.
  const open = new Map<string, State>()
  const unauthenticated = createGroups()
  const owned = createGroups()
  server.maxConnections = options.maxConnections

  function evictUnauthenticated(): void {
    const oldest = unauthenticated.largest()
    if (oldest !== undefined) close(oldest)
  }

  function close(state: State): void {
    release(state)
    state.socket.destroy()
  }

  function release(state: State): void {
    if (state.owner === null) unauthenticated.remove(state.network, state)
    else owned.remove(state.owner, state)
  }

  server.on('connection', (socket: Socket) => {
    if (unauthenticated.size >= options.maxUnauthenticated) evictUnauthenticated()
    const id = endsOf(socket)
    const state: State = { socket, network: networkOf(socket.remoteAddress ?? ''), owner: null }
    open.set(id, state)
    unauthenticated.add(state.network, state)
    socket.once('close', () => {
      release(state)
      if (open.get(id) === state) open.delete(id)
    })
  })

  return {
    authenticated(socket, principal) {
      const state = open.get(endsOf(socket))
      const owner = ownerOf(principal)
      if (state === undefined || owner === null || state.owner === owner) return
      release(state)
      state.owner = owner
      const max = principal.kind === 'gateway' ? maxOfGateway(principal, options) : options.maxPerPrincipal
      const oldest = owned.add(owner, state) > max ? owned.oldest(owner) : undefined
      if (oldest !== undefined) close(oldest)
    },
  }
}

function endsOf({ remoteAddress, remotePort, localAddress }: Socket): string {
  return `${remoteAddress} ${remotePort} ${localAddress}`
}

function maxOfGateway(
  { sidecar }: Extract<Principal, { kind: 'gateway' }>,
  options: ConnectionLimitOptions,
): number {
  return sidecar === null ? options.maxPerGateway : options.maxPerPrincipal
}

function ownerOf(principal: Principal): string | null {
  switch (principal.kind) {
    case 'anonymous':
      return null
    case 'user':
      return `user ${principal.userId}`
    case 'agent':
      return `agent ${principal.agentId}`
    case 'gateway':
      return principal.sidecar === null ? `gateway ${principal.gatewayId}` : `pod ${principal.sidecar.podUid}`
    case 'operator':
    case 'maintenance':
      return principal.kind
  }
}

/** Creates groups of connections by key. Each group is ordered by age, oldest connection first. */
function createGroups() {
  const groups = new Map<string, Set<State>>()
  let size = 0
  return {
    get size() {
      return size
    },
    /** Adds the connection and returns the new size of the group. */
    add(key: string, state: State): number {
      const group = groups.get(key) ?? new Set<State>()
      groups.set(key, group.add(state))
      size++
      return group.size
    },
    remove(key: string, state: State): void {
      const group = groups.get(key)
      if (group?.delete(state) !== true) return
      size--
      if (group.size === 0) groups.delete(key)
    },
    oldest(key: string): State | undefined {
      const [first] = groups.get(key) ?? []
      return first
    },
    /** Returns the oldest connection of the group with the most connections. */
    largest(): State | undefined {
      let found: ReadonlySet<State> = new Set()
      for (const group of groups.values()) if (group.size > found.size) found = group
      const [first] = found
      return first
    },
  }
}
