import type { Socket } from 'node:net'

/**
 * Limits the requests of a connection that wait for their authentication, or for the answer of a route without one, as long
 * as none of its requests was authenticated. Node parses pipelined requests without a limit, and one connection could fill the memory with them.
 */
export type PendingRequests = {
  /** Counts a request. False, and the connection is closed, when it has too many. */
  begin(socket: Socket): boolean
  end(socket: Socket, isAuthenticated: boolean): void
}

/** Clients that pipeline at all send a few. */
const MAX_PENDING = 100

type State = { pending: number; isAuthenticated: boolean }

export function createPendingRequests(): PendingRequests {
  const states = new WeakMap<Socket, State>()
  return {
    begin(socket) {
      const state = states.get(socket) ?? { pending: 0, isAuthenticated: false }
      states.set(socket, state)
      if (socket.destroyed) return false
      if (state.pending >= MAX_PENDING && !state.isAuthenticated) {
        socket.destroy()
        return false
      }
      state.pending++
      return true
    },
    end(socket, isAuthenticated) {
      const state = states.get(socket)
      if (state === undefined) return
      state.pending--
      state.isAuthenticated ||= isAuthenticated
    },
  }
}
