import type { Socket } from 'node:net'
import { Duplex } from 'node:stream'

type Chunk = { readonly chunk: Buffer | string; readonly encoding: BufferEncoding }
type Written = (error?: Error | null) => void

/**
 * Wraps a socket and passes incoming bytes to `onBytes` before they are read. The wrapper ends and fails as the socket
 * does.
 */
export class TappedSocket extends Duplex {
  readonly #socket: Socket

  constructor(socket: Socket, onBytes: (chunk: Buffer) => void) {
    super({ allowHalfOpen: true, emitClose: true })
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => {
      onBytes(chunk)
      if (!this.push(chunk)) socket.pause()
    })
    socket.once('end', () => this.push(null))
    socket.once('error', (error) => this.destroy(error))
    socket.once('close', () => this.destroy())
  }

  override _read(): void {
    this.#socket.resume()
  }

  override _write(chunk: Buffer | string, encoding: BufferEncoding, done: Written): void {
    this.#socket.write(chunk, encoding, done)
  }

  /** Writes all queued chunks with one system call. */
  override _writev(chunks: readonly Chunk[], done: Written): void {
    this.#socket.cork()
    chunks.forEach(({ chunk, encoding }, i) => {
      this.#socket.write(chunk, encoding, i === chunks.length - 1 ? done : undefined)
    })
    this.#socket.uncork()
  }

  override _final(done: Written): void {
    this.#socket.end(() => done())
  }

  override _destroy(error: Error | null, done: Written): void {
    done(error)
    // The socket is destroyed in a later turn: the session emits the error once this stream has closed, and listeners
    // of the socket must receive the error first.
    setImmediate(() => this.#socket.destroy(error ?? undefined))
  }
}
