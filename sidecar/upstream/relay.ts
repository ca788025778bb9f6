import type { Duplex } from 'node:stream'
import type { Dispatcher } from 'undici'
import { ChaperoneError } from '../../core/errors.ts'
import type { Exchange, ReplyStream } from '../pipeline/exchange.ts'
import { inboundHeaders, latin1Pairs } from './headers.ts'
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
export class Relay implements Dispatcher.DispatchHandler {
  readonly done: Promise<void>
  readonly #exchange: Exchange
  readonly #hooks: RelayHooks
  #settle: { resolve(): void; reject(error: unknown): void }
  #controller: Dispatcher.DispatchController | null = null
  #stream: ReplyStream | null = null
  #cause: Error | null = null
  #isOver = false

  constructor(exchange: Exchange, hooks: RelayHooks) {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.done = promise
    this.#settle = { resolve, reject }
    this.#exchange = exchange
    this.#hooks = hooks
  }

  /** Ends it from our side: the agent left, the kill switch fired, or nothing moved for too long. */
  cut(cause: Error): void {
    if (this.#isOver) return
    this.#cause = cause
    if (this.#controller === null) this.#fail(cause)
    else this.#controller.abort(cause)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#cause !== null) controller.abort(this.#cause)
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number): void {
    this.#hooks.idle.touch()
    const headers = inboundHeaders(controller.rawHeaders)
    const { reply, raw, outcome } = this.#exchange
    if (status < 200) {
      reply.interim(status, headers)
      return
    }
    outcome.upstreamHeadAt = this.#hooks.monotonicMs()
    outcome.status = status
    outcome.errorType = errorTypeOf(status)
    const hasBody = raw.method !== 'HEAD' && status !== 204 && status !== 304
    this.#stream = reply.stream(status, headers, hasBody)
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#hooks.idle.touch()
    if (this.#stream === null || this.#stream.write(chunk)) return
    controller.pause()
    this.#stream.onDrain(() => {
      this.#hooks.idle.touch()
      controller.resume()
    })
  }

  onResponseEnd(controller: Dispatcher.DispatchController): void {
    if (this.#isOver) return
    const trailers = latin1Pairs(controller.rawTrailers)
    if (trailers.length > 0) this.#stream?.end(trailers)
    else this.#stream?.end()
    this.#over()
    this.#settle.resolve()
  }

  onRequestUpgrade(
    controller: Dispatcher.DispatchController,
    status: number,
    _headers: unknown,
    socket: Duplex,
  ): void {
    socket.on('error', (error) => socket.destroy(error))
    this.#exchange.outcome.upstreamHeadAt = this.#hooks.monotonicMs()
    this.#exchange.outcome.status = status
    this.#over()
    this.#hooks.onUpgrade(headText(status, latin1Pairs(controller.rawHeaders)), socket)
    this.#settle.resolve()
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#fail(this.#cause ?? error)
  }

  #over(): void {
    this.#isOver = true
    this.#hooks.idle.end()
  }

  #fail(error: Error): void {
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
