import type { Duplex } from 'node:stream'
import { ChaperoneError } from '../../../core/errors.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import type { RegistryHandle } from '../../collections/registry.ts'
import type { AnswerReceiver, Carrier } from '../../upstream/answer-receiver.ts'
import type { ResponseHead } from '../../upstream/http1/response-head.ts'
import type { Outbound } from '../../upstream/outbound.ts'
import { abortReason } from '../exchange-abort.ts'
import { type Answered, isAnswered, type Sent, setAnswered } from '../phases.ts'
import type { ReplyStream } from '../reply.ts'
import { type BodyEdit, editedStream } from './body-edit.ts'
import type { IdleWatch, Watched } from './idle.ts'
import type { ResponseStage } from './response-stage.ts'
import { switchingProblem } from './switching.ts'

export type RelayDeps = {
  readonly monotonicMs: () => number
  readonly idle: IdleWatch
  /** Sends the head to the agent and joins both raw streams until both are closed. */
  readonly join: (exchange: Answered, upstream: Duplex, head: string) => Promise<void>
}

export type Relayed = {
  readonly exchange: Sent
  readonly outbound: Pick<Outbound, 'target' | 'rawHeaders'>
  readonly stages: readonly ResponseStage[]
}

/**
 * Forwards one upstream response through the stages to the agent: interim responses, head, chunks, trailers, and
 * back-pressure. `done` settles once, and rejects only when no response was started, so that the caller can still send
 * a response.
 */
export class Relay implements AnswerReceiver, Watched {
  quiet = 0
  readonly #exchange: Sent
  readonly #outbound: Relayed['outbound']
  readonly #stages: readonly ResponseStage[]
  readonly #deps: RelayDeps
  readonly #handle: RegistryHandle<Watched>
  readonly #settled = Promise.withResolvers<undefined>()
  #carrier: Carrier | null = null
  #stream: ReplyStream | null = null
  #isOver = false

  constructor({ exchange, outbound, stages }: Relayed, deps: RelayDeps) {
    this.#exchange = exchange
    this.#outbound = outbound
    this.#stages = stages
    this.#deps = deps
    exchange.abort.signal.addEventListener('abort', this.#onAbort)
    this.#handle = deps.idle.add(this)
  }

  get done(): Promise<undefined> {
    return this.#settled.promise
  }

  get isOver(): boolean {
    return this.#isOver
  }

  startsOn(carrier: Carrier): void {
    this.#carrier = carrier
  }

  sent(chunk: Buffer): void {
    this.quiet = 0
    for (const stage of this.#stages) stage.sent?.(chunk)
  }

  interim(status: number, headers: RawHeaders): void {
    this.quiet = 0
    this.#exchange.reply.interim(status, this.#fields(headers))
  }

  head(status: number, headers: RawHeaders, hasBody: boolean): void {
    this.quiet = 0
    if (status < 300 && this.#exchange.request.isUpgrade) {
      this.#cut(notSwitched(this.#outbound.target.host))
      return
    }
    if (this.#stages.some((stage) => stage.discards?.(status) === true)) {
      this.#discard()
      return
    }
    const answered = setAnswered(this.#exchange, status, this.#deps.monotonicMs())
    for (const stage of this.#stages) stage.head?.(status, headers, answered)
    this.#stream = this.#open(answered, this.#fields(headers), hasBody)
  }

  /** Ends the exchange with the upstream. The agent receives nothing of the response. */
  #discard(): void {
    this.#over()
    this.#carrier?.abort(new Error('the response was discarded'))
    this.#leaveStages()
    this.#settled.resolve(undefined)
  }

  /** Returns the header fields after all stages have changed them. */
  #fields(headers: RawHeaders): RawHeaders {
    let fields = headers
    for (const stage of this.#stages) fields = stage.fields?.(fields) ?? fields
    return fields
  }

  #open(exchange: Answered, headers: RawHeaders, hasBody: boolean): ReplyStream {
    const { reply, outcome } = exchange
    const { status } = outcome
    const edits = hasBody ? this.#edits(exchange, headers) : NO_EDITS
    return edits.length === 0
      ? reply.stream(status, headers, hasBody)
      : editedStream(reply, { status, headers }, edits)
  }

  #edits(exchange: Answered, headers: RawHeaders): readonly BodyEdit[] {
    let edits = NO_EDITS
    for (const stage of this.#stages) {
      const edit = stage.edit?.(exchange.outcome.status, headers, exchange) ?? null
      if (edit !== null) edits = [...edits, edit]
    }
    return edits
  }

  data(chunk: Buffer): boolean {
    this.quiet = 0
    for (const stage of this.#stages) stage.data?.(chunk)
    if (this.#stream === null || this.#stream.write(chunk)) return true
    this.#stream.onDrain(() => {
      this.quiet = 0
      if (!this.#isOver) this.#carrier?.resume()
    })
    return false
  }

  end(trailers: RawHeaders): void {
    if (this.#isOver) return
    for (const stage of this.#stages) stage.end?.()
    if (trailers.length > 0) this.#stream?.end(this.#fields(trailers))
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
    const answered = setAnswered(this.#exchange, status, this.#deps.monotonicMs())
    this.#over()
    const head = switchingHead(status, this.#fields(headers))
    this.#deps.join(answered, socket, head).then(
      () => this.#answered(),
      (error: unknown) => this.#failed(error),
    )
  }

  error(error: Error): void {
    if (this.#isOver) return
    this.#over()
    const failure = asFailure(error, this.#outbound.target.host)
    // A response that is edited as a whole may still be buffered, with no byte sent to the agent.
    if (this.#stream === null || !this.#exchange.reply.isStarted) {
      this.#failed(failure)
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

  /** Ends the exchange because the client disconnected, a kill switch was activated, or the idle limit passed. */
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
    const exchange = this.#exchange
    if (isAnswered(exchange)) for (const stage of this.#stages) stage.answered?.(exchange)
    this.#leaveStages()
    this.#settled.resolve(undefined)
  }

  #failed(error: unknown): void {
    this.#leaveStages()
    this.#settled.reject(error)
  }

  #leaveStages(): void {
    const isCut = this.#exchange.abort.signal.aborted
    for (const stage of this.#stages) stage.over?.(isCut)
  }
}

const NO_EDITS: readonly BodyEdit[] = []

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

/** Returns the head of a 101 response: Upgrade and Connection, and the end-to-end fields of the upstream. */
function switchingHead(status: number, fields: RawHeaders): string {
  let head = `HTTP/1.1 ${status} Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n`
  for (let at = 0; at + 1 < fields.length; at += 2) head += `${fields[at]}: ${fields[at + 1]}\r\n`
  return `${head}\r\n`
}
