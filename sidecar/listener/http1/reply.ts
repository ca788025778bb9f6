import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { Reply, ReplyStream } from '../../pipeline/exchange.ts'
import type { Output } from './output.ts'
import { asksToClose, fieldLine, fieldLines, statusLine } from './reply-head.ts'

/** The connection, as far as a reply needs it. */
export type ReplyLine = {
  readonly output: Output
  /** Asked once, when the head is written: may another request follow? Never when only the end delimits the body. */
  keepsAlive(isDelimited: boolean): boolean
  replyEnded(): void
  /** Gives the raw stream away, with whatever was read from it. */
  hijack(): Socket
  /** The client does not read what was written. */
  blocked(): void
  /** Cuts the connection; `isReset` makes even a close-delimited answer visibly incomplete. */
  cut(isReset: boolean): void
}

type ReplyTo = { readonly method: string; readonly httpVersion: '1.0' | '1.1' }
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

  send(status: number, headers: RawHeaders, body: Buffer | string): void {
    this.#begin()
    const bytes = typeof body === 'string' ? Buffer.from(body) : body
    const hasLength = status !== 204 && status >= 200
    const length = hasLength ? `Content-Length: ${bytes.length}\r\n` : ''
    const { output } = this.#line
    // A refusal that leaves the framing in doubt says so: no request may follow it.
    if (asksToClose(headers)) this.#mode = 'close'
    output.add(`${statusLine(status)}${fieldLines(headers).lines}${length}${this.#connectionLine()}\r\n`)
    if (bytes.length > 0 && this.#mayHaveBody(status)) {
      this.bytesOut = bytes.length
      output.add(bytes)
    }
    this.#finish()
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

  /** Called by the connection when its socket took everything. */
  drained(): void {
    this.#onDrain?.()
  }

  end(trailers: RawHeaders = []): void {
    if (this.#isEnded) return
    // Fewer bytes than announced: the client must not take them for the whole.
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

  #begin(): void {
    if (this.isStarted) throw new Error('the request was already answered')
    this.isStarted = true
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
    // An answer to HEAD and a 304 speak of a body that does not come; without a length they stay without.
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
