import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'

export type BodyOptions = {
  readonly socket: Socket
  /** Bytes that were announced, or null to send chunks. */
  readonly length: number | null
  readonly onChunk: ((chunk: Buffer) => void) | null
  readonly onFinished: () => void
  readonly onFailed: (error: Error) => void
}

/**
 * Sends the agent's body on its way up, as fast as the socket takes it. The source is never destroyed: the agent's
 * connection must live to carry the answer. Returns the function that stops sending.
 */
export function sendBody(source: Readable, options: BodyOptions): () => void {
  const { socket, length, onChunk, onFinished, onFailed } = options
  let sent = 0
  const stop = (): void => {
    source.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose)
    socket.off('drain', onDrain)
    // Whatever still fails over there is the listener's to answer.
    source.on('error', () => source.resume())
  }
  const fail = (error: Error): void => {
    stop()
    onFailed(error)
  }
  const onData = (chunk: Buffer): void => {
    if (chunk.length === 0) return
    sent += chunk.length
    if (length !== null && sent > length) {
      fail(new Error('the body is longer than its Content-Length'))
      return
    }
    onChunk?.(chunk)
    if (!write(socket, chunk, length === null)) source.pause()
  }
  const onDrain = (): void => void source.resume()
  const onEnd = (): void => {
    if (length !== null && sent < length) {
      fail(new Error('the body is shorter than its Content-Length'))
      return
    }
    stop()
    if (length === null) socket.write('0\r\n\r\n', 'latin1')
    onFinished()
  }
  const onError = (error: Error): void => fail(error)
  const onClose = (): void => {
    if (!source.readableEnded) fail(new Error('the agent closed its request before the end'))
  }
  socket.on('drain', onDrain)
  source.on('end', onEnd).on('error', onError).on('close', onClose).on('data', onData)
  if (source.destroyed && !source.readableEnded) onClose()
  return stop
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
