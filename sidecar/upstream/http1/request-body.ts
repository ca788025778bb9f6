import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import { type SourceEvents, sendSource } from '../send-source.ts'

export type BodyOptions = SourceEvents & {
  readonly socket: Socket
  /** Declared body length in bytes; null for a chunked body. */
  readonly length: number | null
  readonly onChunk: ((chunk: Buffer) => void) | null
}

/** Sends a body in the framing that the request head declared. Returns a function that cancels sending. */
export function sendBody(source: Readable, options: BodyOptions): () => void {
  const { socket, length, onChunk } = options
  let sent = 0
  return sendSource(
    source,
    {
      wire: socket,
      write(chunk) {
        sent += chunk.length
        if (length !== null && sent > length) throw new Error('the body is longer than its Content-Length')
        onChunk?.(chunk)
        return write(socket, chunk, length === null)
      },
      end() {
        if (length !== null && sent < length) throw new Error('the body is shorter than its Content-Length')
        if (length === null) socket.write('0\r\n\r\n', 'latin1')
      },
    },
    options,
  )
}

function write(socket: Socket, chunk: Buffer, isChunked: boolean): boolean {
  if (!isChunked) return socket.write(chunk)
  socket.cork()
  socket.write(`${chunk.length.toString(16)}\r\n`, 'latin1')
  socket.write(chunk)
  const isOpen = socket.write('\r\n', 'latin1')
  socket.uncork()
  return isOpen
}
