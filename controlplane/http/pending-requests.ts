import type { Socket } from 'node:net'
import { ChaperoneError } from '../../core/errors.ts'

/**
 * Limits the pending requests of a connection. Node parses pipelined requests without a limit, so one connection could
 * exhaust the memory. The unauthenticated connections of one network (an IPv4 address or an IPv6 /64 prefix) also share
 * a limit. When this limit is reached, each connection can have only one pending request.
 */
export type PendingRequests = {
  /**
   * Counts a request from `network`. Above the limit of the connection, closes the connection and returns false. Throws
   * `not_ready` above the limit of the network.
   */
  begin(socket: Socket, network: string): boolean
  /** Stops counting the requests of an authenticated connection against the limit of their networks. */
  authenticated(socket: Socket): void
  /**
   * Removes the oldest pending request of the connection from the counts. Must be called when this request is
   * answered.
   */
  answered(socket: Socket): void
}

/** Maximum number of pending requests of one connection. Clients with pipelining send only a few requests at once. */
const MAX_PENDING = 100
const MAX_PENDING_OF_NETWORK = 1_000

/**
 * Pending requests of a connection. `networks` contains the network of each request, oldest request first. Behind a
 * proxy, the requests of one connection come from several networks.
 */
type State = { networks: (string | null)[]; isAuthenticated: boolean }

export function createPendingRequests(): PendingRequests {
  const states = new WeakMap<Socket, State>()
  const byNetwork = new Map<string, number>()

  function count(network: string | null | undefined, change: 1 | -1): void {
    if (network == null) return
    const pending = (byNetwork.get(network) ?? 0) + change
    if (pending === 0) byNetwork.delete(network)
    else byNetwork.set(network, pending)
  }

  function isBeyond(state: State, network: string): boolean {
    return (byNetwork.get(network) ?? 0) >= MAX_PENDING_OF_NETWORK && state.networks.includes(network)
  }

  function release(state: State): void {
    for (const network of state.networks) count(network, -1)
    state.networks = state.networks.map(() => null)
  }

  function stateOf(socket: Socket): State {
    const known = states.get(socket)
    if (known !== undefined) return known
    const state: State = { networks: [], isAuthenticated: false }
    states.set(socket, state)
    // Node emits no `close` event for responses that are queued behind another response. The `close` event of the
    // connection therefore releases all its requests.
    socket.once('close', () => release(state))
    return state
  }

  return {
    begin(socket, network) {
      if (socket.destroyed) return false
      const state = stateOf(socket)
      if (state.networks.length >= MAX_PENDING) {
        socket.destroy()
        return false
      }
      if (!state.isAuthenticated && isBeyond(state, network)) throw tooMany()
      const counted = state.isAuthenticated ? null : network
      state.networks.push(counted)
      count(counted, 1)
      return true
    },
    authenticated(socket) {
      const state = stateOf(socket)
      if (state.isAuthenticated) return
      state.isAuthenticated = true
      release(state)
    },
    answered(socket) {
      count(states.get(socket)?.networks.shift(), -1)
    },
  }
}

function tooMany(): ChaperoneError {
  const detail = `More than ${MAX_PENDING_OF_NETWORK} requests from your network are pending on connections without authentication. Try again in a moment.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 1 })
}
