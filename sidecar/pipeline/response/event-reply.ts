import type { Duplex } from 'node:stream'
import type { ErrorObject, EventFormat } from '../../../core/connectors/event-format.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { AfterRecord } from '../ports.ts'
import type { OpenEvents, Reply, ReplyStream } from '../reply.ts'
import { eventAnswer, type UpstreamError } from './event-answer.ts'

export type EventReplyDeps = {
  readonly format: EventFormat
  /** Headers of the response that starts the event stream. */
  readonly headers: RawHeaders
  readonly openAfterMs: number
  readonly everyMs: number
  /** Called when the event stream has started with status 200. */
  onOpen(): void
  /** Returns the upstream's error in the format of the provider's API. */
  errorOf(error: UpstreamError): ErrorObject
}

/**
 * Reply to a held request whose client accepts server-sent events. When no response is sent in time, the reply starts
 * an event stream with keep-alive events, and sends the response as the rest of that stream. `isStarted` stays false
 * until the response begins, so the request can be refused until then.
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

  /** Called when the hold has ended. Without a started event stream, this reply then behaves like the wrapped reply. */
  released(): void {
    this.#isWaiting = false
    if (this.#stream === null) this.stop()
  }

  /** Ends the keep-alive events. */
  stop(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
  }

  send(status: number, headers: RawHeaders, body: Buffer | string, afterRecord?: AfterRecord): void {
    const stream = this.#answer()
    if (stream === null) {
      this.#reply.send(status, headers, body, afterRecord)
      return
    }
    const finish = () => {
      stream.write(Buffer.from(body))
      stream.end()
    }
    if (afterRecord === undefined) finish()
    else afterRecord(finish)
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

  /** Pings the client. Resolves with false over HTTP/1.1, which has no ping. */
  isThere(): Promise<boolean> {
    return this.#reply.isThere?.() ?? Promise.resolve(false)
  }

  readonly #cut = (): void => {
    this.stop()
    this.#isAnswered = true
    this.#stream?.destroy()
  }

  /** Ends the keep-alive events and returns the open event stream; null when none was started. */
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
