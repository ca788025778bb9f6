import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { AfterRecord } from '../../pipeline/ports.ts'
import type { Reply, ReplyStream } from '../../pipeline/reply.ts'
import type { Output } from './output.ts'
import { asksToClose, fieldLine, fieldLines, refusalLine, statusLine } from './reply-head.ts'

/** Operations of a connection that a reply uses. */
export type ReplyLine = {
  readonly output: Output
  /**
   * Called once, when the response head is written. Returns true when another request may follow on the connection. A
   * body that the close of the connection delimits (`isDelimited` false) excludes another request.
   */
  keepsAlive(isDelimited: boolean): boolean
  replyEnded(): void
  /** Detaches the raw socket from HTTP and puts back the bytes that were already read. */
  hijack(): Socket
  /** Called when the client does not read the response, so that the idle timeout applies. */
  blocked(): void
  /**
   * Destroys the connection. `isReset` sends a TCP reset, which shows the client that a close-delimited response is
   * incomplete.
   */
  cut(isReset: boolean): void
}

type ReplyTo = {
  readonly method: string
  readonly httpVersion: '1.0' | '1.1'
  readonly framing?: { readonly upgrade: string | null }
}
type Mode = 'none' | 'length' | 'chunked' | 'close'

export class Http1Reply implements Reply, ReplyStream {
  isStarted = false
  bytesOut = 0
  readonly #line: ReplyLine
  readonly #to: ReplyTo
  #mode: Mode = 'none'
  #left = 0
  #isEnded = false
  #onDrain: (() => void) | null = null

  constructor(line: ReplyLine, to: ReplyTo) {
    this.#line = line
    this.#to = to
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  send(status: number, headers: RawHeaders, body: Buffer | string, afterRecord?: AfterRecord): void {
    this.#begin()
    if (afterRecord !== undefined) this.#line.output.hold()
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const hasLength = status !== 204 && status >= 200
    const length = hasLength ? `Content-Length: ${bytes.length}\r\n` : ''
    const { output } = this.#line
    // A refusal with `Connection: close` leaves the framing of further requests in doubt, so the connection is closed.
    if (asksToClose(headers)) this.#mode = 'close'
    output.add(
      `${this.#statusLine(status, body)}${fieldLines(headers).lines}${length}${this.#connectionLine()}\r\n`,
    )
    if (bytes.length > 0 && this.#mayHaveBody(status)) {
      this.bytesOut = bytes.length
      output.add(bytes)
    }
    if (afterRecord === undefined) this.#finish()
    else afterRecord(() => this.#sendHeld())
  }

  stream(status: number, headers: RawHeaders, hasBody: boolean): ReplyStream {
    this.#begin()
    const { lines, contentLength } = fieldLines(headers)
    this.#mode = this.#modeFor(status, contentLength, hasBody)
    this.#left = contentLength ?? 0
    const length = this.#lengthLine(status, contentLength)
    this.#line.output.add(`${statusLine(status)}${lines}${length}${this.#connectionLine()}\r\n`)
    return this
  }

  interim(status: number, headers: RawHeaders): void {
    if (this.isStarted || this.#to.httpVersion === '1.0') return
    this.#line.output.add(`${statusLine(status)}${fieldLines(headers).lines}\r\n`)
  }

  upgrade(head: string): Duplex {
    this.#begin()
    this.#isEnded = true
    this.#line.output.add(head)
    this.#line.output.flush()
    return this.#line.hijack()
  }

  write(chunk: Buffer): boolean {
    if (this.#isEnded || this.#mode === 'none' || chunk.length === 0) return !this.#line.output.isFull
    const { output } = this.#line
    this.bytesOut += chunk.length
    if (this.#mode === 'length') this.#left -= chunk.length
    if (this.#left < 0) this.destroy()
    else if (this.#mode === 'chunked') addChunk(output, chunk)
    else output.add(chunk)
    if (output.isFull) this.#line.blocked()
    return !output.isFull
  }

  onDrain(callback: () => void): void {
    this.#onDrain = callback
    if (!this.#line.output.isFull) process.nextTick(callback)
  }

  /** Resumes the response. The connection calls this method when the socket has drained. */
  drained(): void {
    this.#onDrain?.()
  }

  end(trailers: RawHeaders = []): void {
    if (this.#isEnded) return
    // The body is shorter than its Content-Length. Destroying the connection shows the client that the response is
    // incomplete.
    if (this.#mode === 'length' && this.#left > 0) {
      this.destroy()
      return
    }
    if (this.#mode === 'chunked') this.#line.output.add(`0\r\n${fieldLines(trailers).lines}\r\n`)
    this.#finish()
  }

  destroy(): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#line.cut(this.#mode === 'close')
  }

  #statusLine(status: number, body: Buffer | string): string {
    const { method, framing } = this.#to
    const isUnread = method === 'CONNECT' || framing?.upgrade != null
    return isUnread && status >= 400 ? refusalLine(status, body) : statusLine(status)
  }

  #begin(): void {
    if (this.isStarted) throw new Error('the request was already answered')
    this.isStarted = true
  }

  #sendHeld(): void {
    this.#line.output.release()
    // The connection may have been closed while the record was written.
    if (!this.#isEnded) this.#finish()
  }

  #finish(): void {
    this.#isEnded = true
    this.#line.output.flush()
    this.#line.replyEnded()
  }

  #modeFor(status: number, contentLength: number | null, hasBody: boolean): Mode {
    if (!hasBody || !this.#mayHaveBody(status)) return 'none'
    if (contentLength !== null) return 'length'
    return this.#to.httpVersion === '1.0' ? 'close' : 'chunked'
  }

  #lengthLine(status: number, contentLength: number | null): string {
    if (this.#mode === 'chunked') return 'Transfer-Encoding: chunked\r\n'
    if (this.#mode === 'close' || status === 204 || status < 200) return ''
    // A response to HEAD and a 304 declare the length of a body that is not sent. Without a declared length the header
    // is omitted.
    if (contentLength === null) return this.#mayHaveBody(status) ? 'Content-Length: 0\r\n' : ''
    return `Content-Length: ${this.#mode === 'none' && this.#mayHaveBody(status) ? 0 : contentLength}\r\n`
  }

  #mayHaveBody(status: number): boolean {
    return this.#to.method !== 'HEAD' && status !== 204 && status !== 304 && status >= 200
  }

  #connectionLine(): string {
    if (!this.#line.keepsAlive(this.#mode !== 'close')) return fieldLine('Connection', 'close')
    return this.#to.httpVersion === '1.0' ? fieldLine('Connection', 'keep-alive') : ''
  }
}

function addChunk(output: Output, chunk: Buffer): void {
  output.add(`${chunk.length.toString(16)}\r\n`)
  output.add(chunk)
  output.add('\r\n')
}
