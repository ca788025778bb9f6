import type { Socket } from 'node:net'
import { ChaperoneError } from '../../core/errors.ts'

/**
 * Limits the requests of a connection that wait for their authentication, or for the answer of a route without one, as long
 * as none of its requests was authenticated. Node parses pipelined requests without a limit, and one connection could fill the memory with them. The connections of one network share a
 * further limit, beyond which each of them has one pending request.
 */
export type PendingRequests = {
  /**
   * Counts a request, which comes from `network`. False, and the connection is closed, when its connection has too many.
   * Throws `not_ready` when its network has too many.
   */
  begin(socket: Socket, network: string): boolean
  end(socket: Socket, isAuthenticated: boolean): void
}

/** Clients that pipeline at all send a few. */
const MAX_PENDING = 100
const MAX_PENDING_OF_NETWORK = 1_000

/** `networks`: of the pending requests, in the order of arrival. Behind a proxy one connection has several. */
type State = { readonly networks: string[]; isAuthenticated: boolean }

export function createPendingRequests(): PendingRequests {
  const states = new WeakMap<Socket, State>()
  const byNetwork = new Map<string, number>()

  function count(network: string, change: 1 | -1): void {
    const pending = (byNetwork.get(network) ?? 0) + change
    if (pending === 0) byNetwork.delete(network)
    else byNetwork.set(network, pending)
  }

  function isBeyond(state: State, network: string): boolean {
    return (byNetwork.get(network) ?? 0) >= MAX_PENDING_OF_NETWORK && state.networks.includes(network)
  }

  return {
    begin(socket, network) {
      const state = states.get(socket) ?? { networks: [], isAuthenticated: false }
      states.set(socket, state)
      if (socket.destroyed) return false
      if (state.isAuthenticated) return true
      if (state.networks.length >= MAX_PENDING) {
        socket.destroy()
        return false
      }
      if (isBeyond(state, network)) throw tooMany()
      state.networks.push(network)
      count(network, 1)
      return true
    },
    end(socket, isAuthenticated) {
      const state = states.get(socket)
      if (state === undefined) return
      const network = state.networks.shift()
      if (network !== undefined) count(network, -1)
      state.isAuthenticated ||= isAuthenticated
    },
  }
}

function tooMany(): ChaperoneError {
  const detail = `More than ${MAX_PENDING_OF_NETWORK} requests of this network wait for their authentication. Try again in a moment.`
  return new ChaperoneError('not_ready', { detail, retryAfterS: 1 })
}
