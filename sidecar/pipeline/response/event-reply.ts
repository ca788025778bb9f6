import type { Duplex } from 'node:stream'
import type { ErrorObject, EventFormat } from '../../../core/connectors/event-format.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { OpenEvents, Reply, ReplyStream } from '../exchange.ts'
import { eventAnswer, type UpstreamError } from './event-answer.ts'

export type EventReplyDeps = {
  readonly format: EventFormat
  /** Of the answer that is sent when the events begin. */
  readonly headers: RawHeaders
  readonly openAfterMs: number
  readonly everyMs: number
  /** The events have begun: 200 was sent. */
  onOpen(): void
  /** An error of the upstream in the format of the API. */
  errorOf(error: UpstreamError): ErrorObject
}

/**
 * The reply of a held request whose client takes server-sent events. When it is not answered in time it becomes an event
 * stream that says so, and the answer, whichever it is, becomes the rest of that stream. It counts as started only once
 * there is an answer: until then the request can be refused.
 */
export class EventReply implements Reply {
  readonly #reply: Reply
  readonly #deps: EventReplyDeps
  #stream: ReplyStream | null = null
  #timer: NodeJS.Timeout | null = null
  #isWaiting = true
  #isAnswered = false
  #count = 0

  constructor(reply: Reply, deps: EventReplyDeps) {
    this.#reply = reply
    this.#deps = deps
    this.#timer = setTimeout(this.#keepAlive, deps.openAfterMs).unref()
  }

  get isStarted(): boolean {
    return this.#stream === null ? this.#reply.isStarted : this.#isAnswered
  }

  get bytesOut(): number {
    return this.#reply.bytesOut
  }

  get events(): OpenEvents | undefined {
    return this.#stream === null ? undefined : { format: this.#deps.format, cut: this.#cut }
  }

  /** An approver has answered. A reply that has not become a stream stays what it was. */
  released(): void {
    this.#isWaiting = false
    if (this.#stream === null) this.stop()
  }

  /** Nothing more is sent by itself. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  send(status: number, headers: RawHeaders, body: Buffer | string): void {
    const stream = this.#answer()
    if (stream === null) {
      this.#reply.send(status, headers, body)
      return
    }
    stream.write(Buffer.from(body))
    stream.end()
  }

  stream(status: number, headers: RawHeaders, hasBody: boolean): ReplyStream {
    const stream = this.#answer()
    if (stream === null) return this.#reply.stream(status, headers, hasBody)
    return eventAnswer(stream, { status, headers }, this.#deps)
  }

  interim(status: number, headers: RawHeaders): void {
    if (this.#stream === null) this.#reply.interim(status, headers)
  }

  upgrade(head: string): Duplex {
    return this.#reply.upgrade(head)
  }

  /** Replies of HTTP/1.1 have no way to ask. */
  isThere(): Promise<boolean> {
    return this.#reply.isThere?.() ?? Promise.resolve(false)
  }

  readonly #cut = (): void => {
    this.stop()
    this.#isAnswered = true
    this.#stream?.destroy()
  }

  /** The stream that an answer goes to; null for one of its own. */
  #answer(): ReplyStream | null {
    this.stop()
    if (this.#stream !== null && this.#isAnswered) throw new Error('the request was already answered')
    this.#isAnswered = true
    return this.#stream
  }

  readonly #keepAlive = (): void => {
    const { format, headers, everyMs, onOpen } = this.#deps
    if (this.#stream === null) {
      this.#stream = this.#reply.stream(200, headers, true)
      onOpen()
    }
    this.#count += 1
    this.#stream.write(Buffer.from(this.#isWaiting ? format.waiting(this.#count) : format.idle))
    this.#timer = setTimeout(this.#keepAlive, everyMs).unref()
  }
}
