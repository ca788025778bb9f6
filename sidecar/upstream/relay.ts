import type { Duplex } from 'node:stream'
import { ChaperoneError } from '../../core/errors.ts'
import { LIMITS } from '../../core/wire/limits.ts'
import type { RegistryHandle } from '../collections/registry.ts'
import type { Exchange } from '../pipeline/exchange.ts'
import type { ReplyStream } from '../pipeline/reply.ts'
import { abortReason } from './abort-reason.ts'
import { editedStream, editingSink } from './answer-edit.ts'
import { errorTypeOf } from './error-type.ts'
import { inboundHeaders, switchingHeaders } from './headers.ts'
import type { ResponseHandler } from './http1/connection.ts'
import type { ResponseHead } from './http1/response-head.ts'
import type { IdleWatch, Watched } from './idle.ts'
import type { Outbound } from './outbound.ts'
import { switchingProblem } from './switching.ts'

export type RelayDeps = {
  readonly monotonicMs: () => number
  readonly idle: IdleWatch
  /** Sends the head to the agent and joins both raw streams until both are closed. */
  readonly join: (exchange: Exchange, upstream: Duplex, head: string) => Promise<void>
}

/** Transport of an exchange: an HTTP/1.1 connection, or a stream of a shared HTTP/2 session. */
export type Carrier = {
  /** Resumes reading of the response. */
  resume(): void
  /** Aborts the request in flight; the handler receives an error. */
  abort(cause: Error): void
  /**
   * Pings the upstream where the protocol allows it. Resolves with false when the upstream does not answer or does not
   * read. Never rejects.
   */
  isThere?(): Promise<boolean>
}

/**
 * Forwards one upstream response to the agent: interim responses, head, chunks, trailers, and back-pressure. `done`
 * settles once, and rejects only when no response was started, so that the caller can still send a response.
 */
export class Relay implements ResponseHandler, Watched {
  quiet = 0
  readonly #exchange: Exchange
  readonly #outbound: Outbound
  readonly #deps: RelayDeps
  readonly #handle: RegistryHandle<Watched>
  readonly #settled = Promise.withResolvers<undefined>()
  #carrier: Carrier | null = null
  #stream: ReplyStream | null = null
  #isOver = false

  constructor(exchange: Exchange, outbound: Outbound, deps: RelayDeps) {
    this.#exchange = exchange
    this.#outbound = outbound
    this.#deps = deps
    exchange.abort.signal.addEventListener('abort', this.#onAbort)
    this.#handle = deps.idle.add(this)
  }

  get done(): Promise<undefined> {
    return this.#settled.promise
  }

  /** True when the exchange was answered, cut or has failed. Nothing may be sent upstream then. */
  get isOver(): boolean {
    return this.#isOver
  }

  /** Sets the open transport that carries the exchange. */
  startsOn(carrier: Carrier): void {
    this.#carrier = carrier
  }

  /** Called with each chunk of a streamed body before it is sent upstream. */
  sees(chunk: Buffer): void {
    this.quiet = 0
    this.#outbound.watch?.push(chunk)
  }

  interim(status: number, headers: readonly string[]): void {
    this.quiet = 0
    this.#exchange.reply.interim(status, this.#masked(inboundHeaders(headers)))
  }

  head(status: number, headers: readonly string[], hasBody: boolean): void {
    this.quiet = 0
    if (status < 300 && this.#exchange.request?.isUpgrade === true) {
      this.#cut(notSwitched(this.#outbound.target.host))
      return
    }
    this.#outbound.onHead?.()
    this.#outbound.answer?.head(status, headers)
    const { outcome } = this.#exchange
    outcome.upstreamHeadAt = this.#deps.monotonicMs()
    outcome.status = status
    outcome.errorType = errorTypeOf(status)
    this.#stream = this.#open(status, this.#masked(inboundHeaders(headers)), hasBody)
  }

  #masked(headers: readonly string[]): readonly string[] {
    return this.#outbound.echoMask?.headers(headers) ?? headers
  }

  #open(status: number, headers: readonly string[], hasBody: boolean): ReplyStream {
    const { echoMask } = this.#outbound
    const reply = echoMask ? editingSink(this.#exchange.reply, echoMask.body) : this.#exchange.reply
    const edit = hasBody ? (this.#outbound.edit?.begin(status, headers) ?? null) : null
    return edit === null
      ? reply.stream(status, headers, hasBody)
      : editedStream(reply, { status, headers }, edit)
  }

  data(chunk: Buffer): boolean {
    this.quiet = 0
    this.#outbound.answer?.data(chunk)
    if (this.#stream === null || this.#stream.write(chunk)) return true
    this.#stream.onDrain(() => {
      this.quiet = 0
      if (!this.#isOver) this.#carrier?.resume()
    })
    return false
  }

  end(trailers: readonly string[]): void {
    if (this.#isOver) return
    this.#outbound.answer?.end?.()
    if (trailers.length > 0) this.#stream?.end(inboundHeaders(this.#masked(trailers)))
    else this.#stream?.end()
    const edited = this.#stream?.ended ?? null
    if (edited === null) {
      this.#ended()
      return
    }
    // The upstream has finished, so there is no transport to abort. Only the edit of the response is pending.
    this.#carrier = null
    edited.then(this.#ended, (error: unknown) => this.error(error as Error))
  }

  readonly #ended = (): void => {
    if (this.#isOver) return
    this.#over()
    this.#answered()
  }

  upgrade({ status, headers }: ResponseHead, socket: Duplex): void {
    const problem = switchingProblem(this.#outbound.rawHeaders, headers)
    if (problem !== null) {
      socket.destroy()
      this.error(wronglySwitched(this.#outbound.target.host, problem))
      return
    }
    const { outcome } = this.#exchange
    outcome.upstreamHeadAt = this.#deps.monotonicMs()
    outcome.status = status
    this.#over()
    this.#deps.join(this.#exchange, socket, headText(status, switchingHeaders(this.#masked(headers)))).then(
      () => this.#answered(),
      (error: unknown) => this.#settled.reject(error),
    )
  }

  error(error: Error): void {
    if (this.#isOver) return
    this.#over()
    const failure = asFailure(error, this.#outbound.target.host)
    // A response that is edited as a whole may still be buffered, with no byte sent to the agent.
    if (this.#stream === null || !this.#exchange.reply.isStarted) {
      this.#settled.reject(failure)
      return
    }
    const { outcome, abort } = this.#exchange
    // A disconnected client or a killed exchange is not an upstream error.
    if (!abort.signal.aborted)
      outcome.errorType = failure instanceof ChaperoneError ? typeOf(failure) : 'connect'
    outcome.note ??= 'cut'
    this.#stream.destroy()
    this.#answered()
  }

  onIdle(): void {
    this.#areBothThere().then((areThere) => {
      if (areThere) this.quiet = 0
      else this.#cut(silent(this.#outbound.target.host))
    }, this.#onAbort)
  }

  /**
   * Pings the client and the upstream. Resolves with true when both answer. A gRPC call may be silent for any time
   * while both answer. Other exchanges have no ping and therefore time out.
   */
  async #areBothThere(): Promise<boolean> {
    const ends = [this.#carrier?.isThere?.(), this.#exchange.reply.isThere?.()]
    return (await Promise.all(ends)).every((isThere) => isThere === true)
  }

  readonly #onAbort = (): void => this.#cut(abortReason(this.#exchange.abort.signal))

  /** Ends the exchange because the client disconnected, the kill switch fired, or the idle limit passed. */
  #cut(cause: Error): void {
    if (this.#carrier === null) this.error(cause)
    else if (!this.#isOver) this.#carrier.abort(cause)
  }

  #over(): void {
    this.#isOver = true
    this.#deps.idle.remove(this.#handle)
    this.#exchange.abort.signal.removeEventListener('abort', this.#onAbort)
  }

  #answered(): void {
    this.#outbound.watch?.answered()
    this.#settled.resolve(undefined)
  }
}

function typeOf(failure: ChaperoneError): string | null {
  const type = failure.options.extra?.['error_type']
  return typeof type === 'string' ? type : null
}

function asFailure(error: Error, host: string): Error {
  if (error instanceof ChaperoneError || error.name === 'AbortError') return error
  const detail = `${host} closed the connection or violated the protocol before it answered (${error.message}). The request may have arrived, so the gateway does not send it again.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' }, cause: error })
}

/**
 * Returns the error for a response without an upgrade to an upgrade request. The decision was about a WebSocket, so the
 * response of a plain request must not be forwarded.
 */
function notSwitched(host: string): ChaperoneError {
  const detail = `${host} did not switch to the WebSocket protocol, so there is no WebSocket at this address. Send the request without Upgrade.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' } })
}

function wronglySwitched(host: string, problem: string): ChaperoneError {
  const detail = `${host} answered 101, but the answer does not match the WebSocket handshake of the request: ${problem}. The connection was closed.`
  return new ChaperoneError('upstream_failed', { detail, extra: { error_type: 'connect' } })
}

function silent(host: string): ChaperoneError {
  const detail = `${host} sent nothing for ${LIMITS.idleTimeoutMs / 1000} s. The request may have arrived, so the gateway does not send it again.`
  return new ChaperoneError('upstream_timeout', { detail, extra: { error_type: 'timeout' } })
}

function headText(status: number, headers: readonly string[]): string {
  let head = `HTTP/1.1 ${status} Switching Protocols\r\n`
  for (let at = 0; at + 1 < headers.length; at += 2) head += `${headers[at]}: ${headers[at + 1]}\r\n`
  return `${head}\r\n`
}
