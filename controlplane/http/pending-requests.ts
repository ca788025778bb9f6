import type { Socket } from 'node:net'
import { ChaperoneError } from '../../core/errors.ts'

/**
 * Limits the unanswered requests of a connection: Node parses pipelined requests without a limit, and one connection could
 * fill the memory with them. Connections of one network on which nobody has authenticated share a further limit, beyond which
 * each of them has one pending request.
 */
export type PendingRequests = {
  /**
   * Counts a request, which comes from `network`. False, and the connection is closed, when its connection has too many.
   * Throws `not_ready` when its network has too many.
   */
  begin(socket: Socket, network: string): boolean
  /** From now on the requests of this connection do not count for their networks. */
  authenticated(socket: Socket): void
  /** The oldest request of the connection was answered. */
  answered(socket: Socket): void
}

/** Clients that pipeline at all send a few. */
const MAX_PENDING = 100
const MAX_PENDING_OF_NETWORK = 1_000

/** `networks`: of the unanswered requests, in the order of arrival. Behind a proxy one connection has several. */
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
    // Node reports no end of the answers that wait behind another one.
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
  const detail = `More than ${MAX_PENDING_OF_NETWORK} requests of this network wait for an answer, and nobody has authenticated on their connections. Try again in a moment.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 1 })
}
