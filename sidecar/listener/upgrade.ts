import type { Socket } from 'node:net'

/**
 * Readies a socket that HTTP was spoken on for its next owner (a WebSocket, a tunnel, TLS): bytes that were read
 * too far are put back, and the next `data` listener starts the flow, as on a fresh socket. The former owner has
 * removed its listeners.
 */
export function detachSocket(socket: Socket, unread: Buffer | null): Socket {
  // Stops the flow until the next consumer attaches. `pause()` would require an explicit `resume()`.
  socket.on('readable', nothing)
  socket.removeListener('readable', nothing)
  if (unread !== null) socket.unshift(unread)
  return socket
}

function nothing(): void {}
