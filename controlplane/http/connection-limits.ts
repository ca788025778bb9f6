import type { Server, Socket } from 'node:net'
import { networkOf } from '../features/sessions/attempts.ts'
import type { Principal } from './route.ts'

/**
 * Limits how many connections a caller may hold. Unauthenticated connections have a limit of their own: beyond it the
 * oldest connection of the address with the most is closed, so that new ones are accepted. IPv6 addresses count by /64.
 */
export type ConnectionLimits = {
  /** Counts the connection of an authenticated request for its principal; closes the oldest of a principal with too many. */
  authenticated(socket: Socket, principal: Principal): void
}

export type ConnectionLimitOptions = {
  /** Of all callers. Node closes further ones as soon as it has accepted them. */
  readonly maxConnections: number
  readonly maxUnauthenticated: number
  /** Of one agent, pod, user or machine. */
  readonly maxPerPrincipal: number
  /** Of one gateway outside of pods: all of its processes have one token, and each holds up to 17 connections. */
  readonly maxPerGateway: number
}

export const CONNECTION_LIMITS: ConnectionLimitOptions = {
  maxConnections: 50_000,
  maxUnauthenticated: 2_000,
  maxPerPrincipal: 256,
  maxPerGateway: 2_000,
}

/** `owner`: the principal; null while unauthenticated. */
type State = { readonly socket: Socket; readonly network: string; owner: string | null }

export function limitConnections(server: Server, options: ConnectionLimitOptions): ConnectionLimits {
  // Over TLS a request has another socket than the connection: both have the same two ends.
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

/** Connections by key, each group in the order of arrival. */
function createGroups() {
  const groups = new Map<string, Set<State>>()
  let size = 0
  return {
    get size() {
      return size
    },
    /** Returns how many the group has then. */
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
    /** The oldest of the largest group. */
    largest(): State | undefined {
      let found: ReadonlySet<State> = new Set()
      for (const group of groups.values()) if (group.size > found.size) found = group
      const [first] = found
      return first
    },
  }
}
