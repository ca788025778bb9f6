import type { Duplex } from 'node:stream'
import { ChaperoneError } from '../../core/errors.ts'
import type { Exchange, ReplyStream } from '../pipeline/exchange.ts'
import { inboundHeaders } from './headers.ts'
import type { ResponseHandler, UpstreamConnection } from './http1/connection.ts'
import type { ResponseHead } from './http1/response-head.ts'
import type { IdleEntry } from './idle.ts'

export type RelayHooks = {
  readonly monotonicMs: () => number
  readonly onUpgrade: (head: string, socket: Duplex) => void
  readonly idle: IdleEntry
  readonly upstreamHost: string
}

/**
 * Carries one upstream answer to the agent: interim answers, head, chunks as they come, trailers, and back-pressure.
 * `done` settles once. It rejects only when the agent was not answered yet, so that somebody can still do so.
 */
export class Relay implements ResponseHandler {
  readonly done: Promise<void>
  readonly #exchange: Exchange
  readonly #hooks: RelayHooks
  #settle: { resolve(): void; reject(error: unknown): void }
  #connection: UpstreamConnection | null = null
  #stream: ReplyStream | null = null
  #isOver = false

  constructor(exchange: Exchange, hooks: RelayHooks) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.done = promise
    this.#settle = { resolve, reject }
    this.#exchange = exchange
    this.#hooks = hooks
  }

  /** True once it was answered, cut or failed: nothing must be sent for it any more. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** The connection that it runs on, once there is one. */
  startsOn(connection: UpstreamConnection): void {
    this.#connection = connection
  }

  /** Ends it from our side: the agent left, the kill switch fired, or nothing moved for too long. */
  cut(cause: Error): void {
    if (this.#connection === null) this.error(cause)
    else if (!this.#isOver) this.#connection.abort(cause)
  }

  interim(status: number, headers: readonly string[]): void {
    this.#hooks.idle.touch()
    this.#exchange.reply.interim(status, inboundHeaders(headers))
  }

  head(status: number, headers: readonly string[], hasBody: boolean): void {
    this.#hooks.idle.touch()
    const { reply, outcome } = this.#exchange
    outcome.upstreamHeadAt = this.#hooks.monotonicMs()
    outcome.status = status
    outcome.errorType = errorTypeOf(status)
    this.#stream = reply.stream(status, inboundHeaders(headers), hasBody)
  }

  data(chunk: Buffer): boolean {
    this.#hooks.idle.touch()
    if (this.#stream === null || this.#stream.write(chunk)) return true
    this.#stream.onDrain(() => {
      this.#hooks.idle.touch()
      if (!this.#isOver) this.#connection?.resume()
    })
    return false
  }

  end(trailers: readonly string[]): void {
    if (this.#isOver) return
    if (trailers.length > 0) this.#stream?.end(trailers)
    else this.#stream?.end()
    this.#over()
    this.#settle.resolve()
  }

  upgrade({ status, headers }: ResponseHead, socket: Duplex): void {
    this.#exchange.outcome.upstreamHeadAt = this.#hooks.monotonicMs()
    this.#exchange.outcome.status = status
    this.#over()
    this.#hooks.onUpgrade(headText(status, headers), socket)
    this.#settle.resolve()
  }

  error(error: Error): void {
    if (this.#isOver) return
    this.#over()
    const failure = asFailure(error, this.#hooks.upstreamHost)
    if (this.#stream === null) {
      this.#settle.reject(failure)
      return
    }
    const { outcome } = this.#exchange
    outcome.errorType = failure instanceof ChaperoneError ? typeOf(failure) : 'connect'
    outcome.note = 'cut'
    this.#stream.destroy()
    this.#settle.resolve()
  }

  #over(): void {
    this.#isOver = true
    this.#hooks.idle.end()
  }
}

/** `401 | 429 | 500` (any 5xx) for the metrics, else null. */
export function errorTypeOf(status: number): string | null {
  if (status === 401 || status === 429) return String(status)
  return status >= 500 ? '500' : null
}

function typeOf(failure: ChaperoneError): string | null {
  const type = failure.options.extra?.['error_type']
  return typeof type === 'string' ? type : null
}

function asFailure(error: Error, host: string): Error {
  if (error instanceof ChaperoneError || error.name === 'AbortError') return error
  const detail = `${host} closed the connection or broke the protocol before it answered (${error.message}). The request may have arrived: it is not sent again.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' }, cause: error })
}

function headText(status: number, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} Switching Protocols\r\n`
  for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}
