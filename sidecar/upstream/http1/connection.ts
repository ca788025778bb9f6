import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import {
  type BodyDecoder,
  type BodySink,
  ChunkedDecoder,
  type ChunkLimits,
  CloseDecoder,
  LengthDecoder,
} from '../../http/http1/body-decoder.ts'
import type { ResponseHandler } from '../answer-receiver.ts'
import { HeldHead } from './held-head.ts'
import { inPieces } from './pieces.ts'
import { sendBody } from './request-body.ts'
import { headOf, streamHead, type WholeRequest } from './request-head.ts'
import type { Asked } from './response-framing.ts'
import { type ResponseHead, readResponseHead } from './response-head.ts'

export type WireRequest = WholeRequest & {
  readonly body: Buffer | Readable | null
  /** Called with every chunk of a streamed body; null for a body that is not streamed. */
  readonly onBodyChunk: ((chunk: Buffer) => void) | null
}

export type ConnectionOwner = {
  /**
   * Called when the connection may be reused. `keepAliveSeconds` is the idle timeout that the server declared; null
   * when it declared none.
   */
  idle(connection: UpstreamConnection, keepAliveSeconds: number | null): void
  closed(connection: UpstreamConnection): void
}

/** Largest body in bytes that is written together with the head: one TLS record, one system call. */
const JOIN_BYTES = 16 * 1024
/**
 * Size in bytes of the pieces in which larger bodies are written. TLS encrypts each write in one turn of the event
 * loop, and needs memory of the same size again.
 */
const PIECE_BYTES = 256 * 1024
const MAX_INTERIMS = 64
/**
 * Limits of a chunked response body. Chunk extensions have no total limit, because the body is streamed and a server
 * may add an extension to each chunk.
 */
const CHUNK_LIMITS: ChunkLimits = {
  sizeLineBytes: 4_096,
  extensionBytes: Number.POSITIVE_INFINITY,
  trailerBytes: 64 * 1024,
}

/**
 * One HTTP/1.1 connection to an upstream, with one request at a time. The connection is reused only when the response
 * ended as framed, the request was sent completely, and no other bytes arrived.
 */
export class UpstreamConnection implements BodySink {
  readonly socket: Socket
  readonly #owner: ConnectionOwner
  #handler: ResponseHandler | null = null
  #asked: Asked = { isHead: false, isUpgrade: false }
  #decoder: BodyDecoder | null = null
  #held: HeldHead | null = null
  #keepAlive = false
  #keepAliveSeconds: number | null = null
  #interims = 0
  /** Function that cancels sending of the request body; null when the whole body is sent. */
  #stopSending: (() => void) | null = null

  constructor(socket: Socket, owner: ConnectionOwner) {
    this.socket = socket
    this.#owner = owner
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('error', this.#onError)
    socket.on('close', this.#onClose)
  }

  get isUsable(): boolean {
    const { socket } = this
    return this.#handler === null && socket.writable && !socket.destroyed && !socket.readableEnded
  }

  /** Sends one request. An exception while writing is reported to the handler like any other failure. */
  send(request: WireRequest, handler: ResponseHandler): void {
    this.#handler = handler
    this.#asked = { isHead: request.method === 'HEAD', isUpgrade: request.upgrade !== null }
    this.#interims = 0
    this.#keepAlive = false
    try {
      this.#write(request)
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  pause(): void {
    this.socket.pause()
  }

  resume(): void {
    this.socket.resume()
  }

  /** Aborts the request in flight and closes the connection. */
  abort(cause: Error): void {
    this.#fail(cause)
  }

  #write(request: WireRequest): void {
    const { body } = request
    if (body === null) {
      this.socket.write(headOf(request, null), 'latin1')
    } else if (body instanceof Readable) this.#writeStream(request, body)
    else this.#writeWhole(request, body)
  }

  #writeWhole(request: WireRequest, body: Buffer): void {
    const head = headOf(request, body.length)
    if (body.length <= JOIN_BYTES) {
      const whole = Buffer.allocUnsafe(head.length + body.length)
      whole.write(head, 0, 'latin1')
      whole.set(body, head.length)
      this.socket.write(whole)
      return
    }
    if (body.length > PIECE_BYTES) {
      this.socket.write(head, 'latin1')
      this.#sendSource(inPieces(body, PIECE_BYTES), body.length, null)
      return
    }
    this.socket.cork()
    this.socket.write(head, 'latin1')
    this.socket.write(body)
    this.socket.uncork()
  }

  #writeStream(request: WireRequest, source: Readable): void {
    const { text, length } = streamHead(request)
    this.socket.write(text, 'latin1')
    this.#sendSource(source, length, request.onBodyChunk)
  }

  #sendSource(source: Readable, length: number | null, onChunk: WireRequest['onBodyChunk']): void {
    this.#stopSending = sendBody(source, {
      socket: this.socket,
      length,
      onChunk,
      onFinished: () => {
        this.#stopSending = null
      },
      onFailed: (error) => {
        this.#stopSending = null
        this.#fail(error)
      },
    })
  }

  readonly #onData = (chunk: Buffer): void => {
    const handler = this.#handler
    // Bytes without a request are an unsolicited response, which must not be taken for the response to the next
    // request.
    if (handler === null) this.socket.destroy()
    else this.#read(chunk, handler)
  }

  #read(chunk: Buffer, handler: ResponseHandler): void {
    try {
      if (this.#decoder !== null) {
        this.#feed(this.#decoder, chunk)
        return
      }
      const bytes = this.#held === null ? chunk : this.#held.push(chunk)
      if (bytes === null) return
      this.#held = null
      this.#readHeads(bytes, handler)
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  /** Parses the heads of interim responses (1xx) and of the final response. */
  #readHeads(first: Buffer, handler: ResponseHandler): void {
    let bytes: Buffer | null = first
    while (bytes !== null && this.#handler === handler && this.#decoder === null) {
      const result = readResponseHead(bytes, this.#asked)
      if (result.kind === 'malformed') {
        this.#fail(new Error(`the answer is malformed: ${result.detail}`))
        return
      }
      if (result.kind === 'incomplete') {
        this.#held = new HeldHead(bytes)
        return
      }
      const rest: Buffer | null = result.end < bytes.length ? bytes.subarray(result.end) : null
      bytes = this.#take(result.head, rest, handler)
    }
  }

  /**
   * Handles one response head. Returns the bytes after an interim response, in which the next head starts; null after
   * the final response.
   */
  #take(head: ResponseHead, rest: Buffer | null, handler: ResponseHandler): Buffer | null {
    if (head.status === 101) this.#upgrade(head, rest, handler)
    else if (head.status < 200) {
      this.#interims += 1
      if (this.#interims > MAX_INTERIMS) this.#fail(new Error('the answer has too many interim answers'))
      else handler.interim(head.status, head.headers)
      return rest
    } else this.#begin(head, rest, handler)
    return null
  }

  #begin({ status, headers, framing }: ResponseHead, rest: Buffer | null, handler: ResponseHandler): void {
    this.#keepAlive = framing.keepAlive
    this.#keepAliveSeconds = framing.keepAliveSeconds
    handler.head(status, headers, framing.body !== 'none')
    if (this.#handler !== handler) return
    if (framing.body === 'none') {
      if (rest !== null) this.#keepAlive = false
      this.complete([])
      return
    }
    const decoder = this.#decoderFor(framing)
    this.#decoder = decoder
    if (rest !== null) this.#feed(decoder, rest)
  }

  #decoderFor(framing: ResponseHead['framing']): BodyDecoder {
    if (framing.body === 'length') return new LengthDecoder(this, framing.length)
    return framing.body === 'chunked' ? new ChunkedDecoder(this, CHUNK_LIMITS) : new CloseDecoder(this)
  }

  #feed(decoder: BodyDecoder, bytes: Buffer): void {
    const rest = decoder.feed(bytes)
    if (decoder.problem !== null) this.#fail(new Error(`the answer is malformed: ${decoder.problem}`))
    // The response was valid. The connection is not reused, because unsolicited bytes follow the response.
    else if (rest !== null) this.socket.destroy()
  }

  push(chunk: Buffer): void {
    if (this.#handler?.data(chunk) === false) this.socket.pause()
  }

  complete(trailers: readonly string[]): void {
    const handler = this.#handler
    const isWhole = this.#stopSending === null
    this.#settle()
    if (this.#keepAlive && isWhole && this.socket.writable) {
      this.socket.resume()
      this.#owner.idle(this, this.#keepAliveSeconds)
    } else this.socket.destroy()
    handler?.end(trailers)
  }

  #upgrade(head: ResponseHead, rest: Buffer | null, handler: ResponseHandler): void {
    const { socket } = this
    socket.removeListener('data', this.#onData)
    socket.removeListener('end', this.#onEnd)
    socket.removeListener('error', this.#onError)
    socket.removeListener('close', this.#onClose)
    socket.on('error', () => socket.destroy())
    socket.pause()
    this.#settle()
    this.#owner.closed(this)
    if (rest !== null) socket.unshift(rest)
    handler.upgrade(head, socket)
  }

  readonly #onEnd = (): void => {
    if (this.#decoder instanceof CloseDecoder) this.#decoder.complete()
    else this.#fail(new Error('the connection ended before the answer did'))
  }

  readonly #onError = (error: Error): void => this.#fail(error)

  readonly #onClose = (): void => {
    this.#owner.closed(this)
    this.#fail(new Error('the connection closed before the answer was complete'))
  }

  #fail(error: Error): void {
    const handler = this.#handler
    this.#settle()
    this.socket.destroy()
    handler?.error(error)
  }

  /** Clears the state of the current request, and cancels sending of its body. */
  #settle(): void {
    this.#handler = null
    this.#decoder = null
    this.#held = null
    this.#stopSending?.()
    this.#stopSending = null
  }
}
