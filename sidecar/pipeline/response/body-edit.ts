import type { RawHeaders } from '../../../core/request/canonical.ts'
import type { Reply, ReplyStream } from '../reply.ts'

/**
 * Edit of a response body. `whole`: the head is delayed until the body is complete, because its length may change; a
 * body longer than `maxBytes` is forwarded unchanged. When `edit` returns the same buffer, the head is not changed
 * either. `paced`: chunks are edited and forwarded in order.
 */
export type BodyEdit =
  | { readonly kind: 'whole'; readonly maxBytes: number; edit(body: Buffer): Promise<Buffer> }
  | PacedEdit

export type PacedEdit = {
  readonly kind: 'paced'
  push(chunk: Buffer): Buffer | Promise<Buffer>
  /** Returns the remaining bytes. Called after every `push` has settled. */
  end(): Buffer
}

/** Receiver of a response: the agent, or an edit in front of it. */
type AnswerSink = Pick<Reply, 'stream'>

/** Head of a response as the agent receives it. */
type AnswerHead = { readonly status: number; readonly headers: RawHeaders }

/**
 * Returns the stream to which the upstream's body is written. The edits apply in their order, and the last one writes
 * to the agent.
 */
export function editedStream(reply: Reply, head: AnswerHead, edits: readonly BodyEdit[]): ReplyStream {
  const sink = edits.reduceRight<AnswerSink>((next, edit) => new EditedSink(next, edit), reply)
  return sink.stream(head.status, head.headers, true)
}

class EditedSink implements AnswerSink {
  readonly #next: AnswerSink
  readonly #edit: BodyEdit

  constructor(next: AnswerSink, edit: BodyEdit) {
    this.#next = next
    this.#edit = edit
  }

  stream(status: number, headers: RawHeaders): ReplyStream {
    const head = { status, headers }
    return this.#edit.kind === 'whole'
      ? new WholeEdit(this.#next, head, this.#edit)
      : new QueuedEdit(this.#next, head, this.#edit)
  }
}

type Whole = Extract<BodyEdit, { kind: 'whole' }>

class WholeEdit implements ReplyStream {
  ended: Promise<undefined> | null = null
  readonly #reply: AnswerSink
  readonly #head: AnswerHead
  readonly #edit: Whole
  #held: Buffer[] = []
  #heldBytes = 0
  /** Stream to the agent; null until the head is sent. */
  #stream: ReplyStream | null = null
  #isDestroyed = false

  constructor(reply: AnswerSink, head: AnswerHead, edit: Whole) {
    this.#reply = reply
    this.#head = head
    this.#edit = edit
  }

  write(chunk: Buffer): boolean {
    if (this.#stream !== null) return this.#stream.write(chunk)
    this.#held.push(chunk)
    this.#heldBytes += chunk.length
    return this.#heldBytes <= this.#edit.maxBytes || this.#open(this.#head.headers).write(this.#taken())
  }

  onDrain(callback: () => void): void {
    this.#stream?.onDrain(callback)
  }

  end(trailers?: RawHeaders): void {
    if (this.#stream === null) this.ended = this.#endEdited(trailers)
    else endStream(this.#stream, trailers)
  }

  destroy(): void {
    this.#isDestroyed = true
    this.#stream?.destroy()
  }

  async #endEdited(trailers: RawHeaders | undefined): Promise<undefined> {
    const body = this.#taken()
    const edited = await this.#edit.edit(body)
    if (this.#isDestroyed) return
    const { headers } = this.#head
    const stream = this.#open(edited === body ? headers : headersFor(headers, edited.length))
    if (edited.length > 0) stream.write(edited)
    endStream(stream, trailers)
  }

  #open(headers: RawHeaders): ReplyStream {
    const stream = this.#reply.stream(this.#head.status, headers, true)
    this.#stream = stream
    return stream
  }

  #taken(): Buffer {
    const body = Buffer.concat(this.#held)
    this.#held = []
    return body
  }
}

function endStream(stream: ReplyStream, trailers: RawHeaders | undefined): void {
  if (trailers === undefined) stream.end()
  else stream.end(trailers)
}

/** Forwards chunks in order. While a chunk is edited, later chunks wait and the upstream is not read. */
class QueuedEdit implements ReplyStream {
  ended: Promise<undefined> | null = null
  readonly #stream: ReplyStream
  readonly #edit: PacedEdit
  /** Promise of the last chunk that is being edited; null when there is none. */
  #pending: Promise<undefined> | null = null
  #isDestroyed = false

  constructor(reply: AnswerSink, { status, headers }: AnswerHead, edit: PacedEdit) {
    this.#stream = reply.stream(status, headers, true)
    this.#edit = edit
  }

  write(chunk: Buffer): boolean {
    if (this.#pending !== null) {
      this.#follow(this.#pending.then(() => this.#edit.push(chunk)))
      return false
    }
    const edited = this.#edit.push(chunk)
    if (!(edited instanceof Promise)) return this.#pass(edited)
    this.#follow(edited)
    return false
  }

  onDrain(callback: () => void): void {
    if (this.#pending === null) this.#stream.onDrain(callback)
    else this.#pending.then(callback, ignore)
  }

  end(trailers?: RawHeaders): void {
    if (this.#pending === null) this.#endNow(trailers)
    else this.ended = this.#pending.then(() => this.#endNow(trailers))
  }

  destroy(): void {
    this.#isDestroyed = true
    this.#stream.destroy()
  }

  #follow(edited: Promise<Buffer>): void {
    const pending = edited.then((bytes) => {
      if (this.#pending === pending) this.#pending = null
      this.#pass(bytes)
      return undefined
    })
    // An edit rejects when its exchange was aborted. The code that aborted the exchange destroys the stream.
    pending.catch(ignore)
    this.#pending = pending
  }

  #pass(bytes: Buffer): boolean {
    return this.#isDestroyed || bytes.length === 0 || this.#stream.write(bytes)
  }

  #endNow(trailers: RawHeaders | undefined): undefined {
    this.#pass(this.#edit.end())
    if (!this.#isDestroyed) endStream(this.#stream, trailers)
  }
}

function ignore(): void {}

/** Headers that describe the bytes of the body and become invalid after an edit. */
const ABOUT_BYTES: ReadonlySet<string> = new Set([
  'etag',
  'content-md5',
  'content-digest',
  'digest',
  'repr-digest',
  'accept-ranges',
])

function headersFor(headers: RawHeaders, length: number): string[] {
  const out: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] ?? ''
    const lower = name.toLowerCase()
    if (ABOUT_BYTES.has(lower)) continue
    out.push(name, lower === 'content-length' ? String(length) : (headers[at + 1] ?? ''))
  }
  return out
}
