import type { Socket } from 'node:net'

/**
 * Detaches a socket from HTTP for its next consumer (a WebSocket, a tunnel, TLS). Puts back bytes that were read beyond
 * the request; the next `data` listener resumes the flow. The previous consumer must have removed its listeners.
 */
export function detachSocket(socket: Socket, unread: Buffer | null): Socket {
  // Adding and removing a `readable` listener stops the flow until the next consumer attaches. `pause()` would require
  // an explicit `resume()`.
  socket.on('readable', nothing)
  socket.removeListener('readable', nothing)
  if (unread !== null) socket.unshift(unread)
  return socket
}

function nothing(): void {}
