import type { Socket } from 'node:net'
import { EMPTY_BODY } from '../body-intake.ts'
import { type ConnectionDeadline, LINGER_MS } from '../connection-deadline.ts'
import { detachSocket } from '../upgrade.ts'
import type { Problem } from './framing.ts'
import { malformedHead, type RequestHead } from './head.ts'
import { HeadMemo } from './head-memo.ts'
import type { Http1Options, Incoming } from './incoming.ts'
import { Output } from './output.ts'
import type { ReplyLine } from './reply.ts'
import { RequestBodyReader } from './request-body.ts'
import { newIncoming, serve } from './serve.ts'

/** Maximum number of pipelined bytes that are buffered during an exchange. Beyond the limit, the socket is paused. */
const READ_AHEAD_BYTES = 64 * 1024
/** Limit in bytes of an unread request body that is drained so that the connection can be reused. */
const DRAIN_BYTES = 256 * 1024
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const CLIENT_LEFT = 'the client closed the connection'

/** Serves HTTP/1.1 on one socket, plain or TLS. Handles requests one by one; pipelined requests wait in order. */
export class Http1Connection implements ReplyLine {
  readonly socket: Socket
  readonly deadline: ConnectionDeadline
  readonly output: Output
  readonly #options: Http1Options
  readonly #body = new RequestBodyReader(this)
  readonly #memo = new HeadMemo()
  #state: 'head' | 'exchange' | 'drain' | 'linger' | 'detached' = 'head'
  /** Unread bytes: an incomplete request head, or bytes after the current request. */
  #pending: Buffer | null = null
  #current: Incoming | null = null
  #isDeferred = false
  /** True when no further request is read, because of `Connection: close`, broken framing, or shutdown. */
  #isLast = false
  #drainedFrom = 0

  constructor(socket: Socket, options: Http1Options) {
    this.socket = socket
    this.deadline = options.deadline
    this.output = new Output(socket)
    this.#options = options
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('drain', this.#onDrain)
    socket.once('close', () => this.#gone(CLIENT_LEFT))
    this.deadline.drain = () => this.#drainConnection()
    this.#armIdle()
  }

  /** Starts reading. `first` contains bytes that were already read from the socket. */
  start(first: Buffer | null): void {
    if (first !== null && first.length > 0) this.#onData(first)
    if (this.#state !== 'detached') this.socket.resume()
  }

  want(): void {
    if (this.#state === 'detached') return
    if (this.#current?.reply.isStarted === false && this.#body.takeContinue()) {
      this.output.add(CONTINUE)
      this.output.flush()
    }
    this.#armStalled()
    this.socket.resume()
  }

  hold(): void {
    if (this.#state === 'detached') return
    this.deadline.disarm()
    this.socket.pause()
  }

  keepsAlive(isDelimited: boolean): boolean {
    if (!isDelimited) this.#isLast = true
    if (this.#body.missing > DRAIN_BYTES || this.#body.owesContinue) this.#isLast = true
    if (this.#current?.head.framing.keepAlive !== true) this.#isLast = true
    // Bytes after a refused CONNECT belong to the tunnel that was not opened, so they are not read as a request.
    if (this.#current?.head.method === 'CONNECT' && this.#pending !== null) this.#isLast = true
    return !this.#isLast
  }

  blocked(): void {
    this.#armStalled()
  }

  replyEnded(): void {
    if (this.#state !== 'exchange') return
    this.#current = null
    this.deadline.disarm()
    if (this.#isLast) this.#linger()
    else if (this.#body.isDone) this.#next()
    else this.#drainBody()
  }

  hijack(): Socket {
    this.#state = 'detached'
    this.deadline.disarm()
    this.deadline.drain = () => this.socket.destroy()
    this.socket.removeListener('data', this.#onData)
    this.socket.removeListener('end', this.#onEnd)
    this.socket.removeListener('drain', this.#onDrain)
    const unread = this.#pending
    this.#pending = null
    return detachSocket(this.socket, unread)
  }

  cut(isReset: boolean): void {
    this.#current = null
    this.#body.fail(new Error('the connection was cut'))
    if (isReset) this.deadline.socket.resetAndDestroy()
    this.socket.destroy()
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state === 'head') this.#readHead(chunk)
    else if (this.#state === 'exchange' || this.#state === 'drain') this.#readBehindHead(chunk)
  }

  #readHead(chunk: Buffer): void {
    const before = this.#pending
    const bytes = before === null ? chunk : Buffer.concat([before, chunk])
    const result = this.#memo.read(bytes, bytes.length - chunk.length)
    this.#pending = null
    if (result.kind === 'malformed') this.#refuse(result.head, result.problem)
    else if (result.kind === 'head') {
      this.#begin(result.head, result.end < bytes.length ? bytes.subarray(result.end) : null)
    } else {
      this.#pending = bytes
      if (before === null) this.#armHead()
    }
  }

  #begin(head: RequestHead, rest: Buffer | null): void {
    this.#state = 'exchange'
    this.deadline.disarm()
    this.#body.open(head.framing)
    this.#pending = rest === null ? null : this.#body.feed(rest)
    const { problem } = this.#body
    if (problem !== null) {
      this.#refuse(head, { code: 'malformed_request', detail: problem })
      return
    }
    this.#current = newIncoming(this, head, this.#body.body, { problem: null, template: this.#memo.template })
    if (this.#body.isExpectedSoon) this.#defer()
    else this.#serve(this.#current)
  }

  #readBehindHead(chunk: Buffer): void {
    if (this.#body.isDone) {
      this.#readAhead(chunk)
      return
    }
    this.#armStalled()
    const rest = this.#body.feed(chunk)
    if (this.#body.problem !== null) this.#bodyBroken()
    else if (this.#body.isDone) this.#bodyDone(rest)
    else if (this.#state === 'drain' && this.#body.bytesIn - this.#drainedFrom > DRAIN_BYTES) this.#linger()
  }

  #bodyDone(rest: Buffer | null): void {
    this.deadline.disarm()
    this.#pending = rest
    if (this.#state === 'drain') this.#next()
    else this.#serveDeferred()
  }

  #bodyBroken(): void {
    this.#isLast = true
    this.#body.close()
    if (this.#state === 'drain') this.#linger()
    else this.#serveDeferred()
  }

  /** Buffers bytes of the next request until the current request is answered. */
  #readAhead(chunk: Buffer): void {
    // Bytes after a malformed or last request are not parsed.
    if (this.#isLast) return
    this.#pending = this.#pending === null ? chunk : Buffer.concat([this.#pending, chunk])
    if (this.#pending.length > READ_AHEAD_BYTES) this.socket.pause()
  }

  #defer(): void {
    this.#isDeferred = true
    setImmediate(() => this.#serveDeferred())
  }

  #serveDeferred(): void {
    if (!this.#isDeferred || this.#current === null) return
    this.#isDeferred = false
    this.#serve(this.#current)
  }

  #serve(incoming: Incoming): void {
    serve(incoming, this.#options, () => {
      this.#isLast = true
    })
  }

  #refuse(head: RequestHead, problem: Problem): void {
    this.#state = 'exchange'
    this.#isLast = true
    this.#body.close()
    this.deadline.disarm()
    this.#current = newIncoming(this, head, EMPTY_BODY, { problem, template: null })
    this.#serve(this.#current)
  }

  #next(): void {
    this.#state = 'head'
    this.#body.close()
    this.socket.resume()
    if (this.#pending === null) this.#armIdle()
    else process.nextTick(() => this.#readPipelined())
  }

  #readPipelined(): void {
    const bytes = this.#pending
    if (this.#state !== 'head' || bytes === null) return
    this.#pending = null
    this.#readHead(bytes)
  }

  #drainBody(): void {
    this.#state = 'drain'
    this.#drainedFrom = this.#body.bytesIn
    this.#body.discard()
    this.deadline.arm(this.#options.headTimeoutMs, () => this.#linger())
  }

  /**
   * Half-closes the connection and keeps reading. A close with unread bytes would send a TCP reset, which can overtake
   * the response.
   */
  #linger(): void {
    if (this.#state === 'linger' || this.#state === 'detached') return
    this.#state = 'linger'
    this.#pending = null
    this.#body.discard()
    this.output.flush()
    this.socket.end()
    this.socket.resume()
    this.deadline.arm(LINGER_MS, () => this.deadline.socket.destroy())
  }

  #drainConnection(): void {
    this.#isLast = true
    if (this.#state === 'head' && this.#pending === null) this.#linger()
  }

  #refuseUnfinished(detail: string): void {
    const problem: Problem = { code: 'malformed_request', detail }
    const text = this.#pending?.toString('latin1') ?? ''
    this.#pending = null
    this.#refuse(malformedHead(text, problem).head, problem)
  }

  /** Handles the end of the client's data. During an exchange the end counts as a disconnect of the client. */
  readonly #onEnd = (): void => {
    this.#isLast = true
    if (this.#state === 'exchange') this.#gone(CLIENT_LEFT)
    else if (this.#state === 'head' && this.#pending !== null) {
      this.#refuseUnfinished('the connection ended inside the request head')
    } else this.#linger()
  }

  #gone(why: string): void {
    const current = this.#current
    if (current === null) return
    const reason = new Error(why)
    this.#body.fail(reason)
    this.#serveDeferred()
    if (!current.abort.signal.aborted) current.abort.abort(reason)
  }

  readonly #onDrain = (): void => {
    this.deadline.disarm()
    this.#current?.reply.drained()
  }

  #armIdle(): void {
    this.deadline.arm(this.#options.idleTimeoutMs, () => this.#linger())
  }

  #armHead(): void {
    const { headTimeoutMs } = this.#options
    const detail = `the request head was not complete after ${headTimeoutMs} ms`
    this.deadline.arm(headTimeoutMs, () => this.#refuseUnfinished(detail))
  }

  /** Starts the idle timeout while an exchange waits for the client to send the body or to read the response. */
  #armStalled(): void {
    if (this.#state !== 'exchange') return
    this.deadline.arm(this.#options.idleTimeoutMs, () => this.#stalled())
  }

  #stalled(): void {
    this.#gone('the client sent and read no data for too long')
    this.deadline.socket.destroy()
  }
}
