import { type ClientHttp2Stream, constants, type IncomingHttpHeaders } from 'node:http2'
import { Readable } from 'node:stream'
import { ChaperoneError } from '../../../core/errors.ts'
import type { ResponseHandler } from '../answer-receiver.ts'
import type { WireRequest } from '../http1/connection.ts'
import { type SourceSink, sendSource } from '../send-source.ts'
import { plainFields } from './call-fields.ts'
import type { OpenedStream } from './session.ts'

const END_STREAM = constants.NGHTTP2_FLAG_END_STREAM
const NO_TRAILERS: readonly string[] = []
const MAX_INTERIMS = 64

type Answer = (headers: IncomingHttpHeaders, flags: number, raw: readonly string[]) => void

/**
 * One request on one stream of a session. Request and response run concurrently, each with its own back-pressure. The
 * handler receives the same events as from an HTTP/1.1 connection, and no event after `end` or `error`. A stream that
 * is not finished at `end` or `error` is reset.
 */
export class UpstreamCall {
  readonly #stream: ClientHttp2Stream
  readonly #cancel: () => void
  readonly #answers: () => Promise<boolean>
  readonly #handler: ResponseHandler
  #trailers: readonly string[] | null = null
  #interims = 0
  #error: Error | null = null
  #isOver = false
  /** Function that cancels sending of the request body; null when the whole body is sent. */
  #stopSending: (() => void) | null = null

  constructor({ stream, cancel, isThere }: OpenedStream, handler: ResponseHandler) {
    this.#stream = stream
    this.#cancel = cancel
    this.#answers = isThere
    this.#handler = handler
    stream.on('headers', this.#onInterim)
    stream.on('response', this.#onResponse as Answer)
    stream.on('trailers', this.#onTrailers as Answer)
    stream.on('error', (error: Error) => {
      this.#error ??= error
    })
    stream.on('close', this.#onClose)
  }

  send({ body, onBodyChunk }: Pick<WireRequest, 'body' | 'onBodyChunk'>): void {
    if (!(body instanceof Readable)) {
      this.#stream.end(body ?? undefined)
      return
    }
    const stream = this.#stream
    const sink: SourceSink = {
      wire: stream,
      write(chunk) {
        onBodyChunk?.(chunk)
        return stream.write(chunk)
      },
      end: () => void stream.end(),
    }
    this.#stopSending = sendSource(body, sink, {
      onFinished: () => {
        this.#stopSending = null
      },
      onFailed: (error) => {
        this.#stopSending = null
        this.abort(error)
      },
    })
  }

  resume(): void {
    this.#stream.resume()
  }

  /**
   * Resolves with true when the server answers a ping. A server that does not read the request counts as unreachable.
   */
  async isThere(): Promise<boolean> {
    return this.#stream.writableLength === 0 && (await this.#answers())
  }

  /** Cancels the request. The stream is reset immediately, and the session stays open for other calls. */
  abort(cause: Error): void {
    if (this.#isOver) return
    this.#settle()
    this.#cancel()
    this.#handler.error(cause)
  }

  readonly #onInterim = (headers: IncomingHttpHeaders, _flags: number, raw?: readonly string[]): void => {
    if (this.#isOver) return
    this.#interims += 1
    if (this.#interims > MAX_INTERIMS)
      this.abort(new Error('the answer has too many interim (1xx) responses'))
    else this.#handler.interim(statusOf(headers), plainFields(raw ?? NO_TRAILERS))
  }

  /**
   * Forwards the head, and starts to read the stream afterwards. Data of the same packet must not be forwarded before
   * the head.
   */
  readonly #onResponse: Answer = (headers, flags, raw) => {
    if (this.#isOver) return
    const isWhole = (flags & END_STREAM) !== 0
    this.#handler.head(statusOf(headers), plainFields(raw), !isWhole)
    if (this.#isOver) return
    if (isWhole) {
      this.#complete(NO_TRAILERS)
      return
    }
    this.#stream.on('end', this.#onEnd)
    this.#stream.on('data', this.#onData)
  }

  readonly #onData = (chunk: Buffer): void => {
    if (!this.#isOver && !this.#handler.data(chunk)) this.#stream.pause()
  }

  readonly #onTrailers: Answer = (_headers, _flags, raw) => {
    this.#trailers = plainFields(raw)
  }

  /**
   * Completes the response. Node also emits `end` for a stream that was reset, so the response counts as complete only
   * with trailers or without a reset.
   */
  readonly #onEnd = (): void => {
    const isCut = this.#stream.destroyed || this.#stream.rstCode !== constants.NGHTTP2_NO_ERROR
    if (!this.#isOver && (this.#trailers !== null || !isCut)) this.#complete(this.#trailers ?? NO_TRAILERS)
  }

  /**
   * Completes or fails the call. Some servers reset the stream after a complete response, even with a code other than
   * NO_ERROR.
   */
  readonly #onClose = (): void => {
    if (this.#isOver) return
    const isWhole = this.#trailers !== null && this.#stream.readableLength === 0
    if (isWhole) this.#complete(this.#trailers ?? NO_TRAILERS)
    else this.abort(this.#failure())
  }

  #failure(): Error {
    const { rstCode } = this.#stream
    if (rstCode === constants.NGHTTP2_REFUSED_STREAM) return refused()
    return this.#error ?? new Error(`the stream was reset (${codeName(rstCode)})`)
  }

  #complete(trailers: readonly string[]): void {
    const isSent = this.#stopSending === null && (this.#stream.writableFinished || this.#stream.closed)
    this.#settle()
    // The rest of the request is not sent, because a server that has sent its whole response does not read it.
    if (!isSent) this.#cancel()
    this.#handler.end(trailers)
  }

  #settle(): void {
    this.#isOver = true
    this.#stopSending?.()
    this.#stopSending = null
    this.#stream.removeListener('data', this.#onData)
    // The response is drained, because a stream with unread data does not close.
    this.#stream.resume()
  }
}

function statusOf(headers: IncomingHttpHeaders): number {
  return Number(headers[':status'])
}

/**
 * Returns the error of a refused stream. REFUSED_STREAM guarantees that the server processed nothing, but only the
 * agent may decide about a retry.
 */
function refused(): ChaperoneError {
  const detail =
    'The upstream rejected the call before processing it (REFUSED_STREAM), for example because the server is busy or stopping. Send the call again.'
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' } })
}

/** Error codes of HTTP/2 by number (RFC 9113, section 7). */
const CODES = [
  ...['NO_ERROR', 'PROTOCOL_ERROR', 'INTERNAL_ERROR', 'FLOW_CONTROL_ERROR', 'SETTINGS_TIMEOUT'],
  ...['STREAM_CLOSED', 'FRAME_SIZE_ERROR', 'REFUSED_STREAM', 'CANCEL', 'COMPRESSION_ERROR'],
  ...['CONNECT_ERROR', 'ENHANCE_YOUR_CALM', 'INADEQUATE_SECURITY', 'HTTP_1_1_REQUIRED'],
]

function codeName(code: number | undefined): string {
  return CODES[code ?? -1] ?? `code ${code}`
}
