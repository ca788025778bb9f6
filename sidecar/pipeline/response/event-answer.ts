import type { ErrorObject, EventFormat } from '../../../core/connectors/event-format.ts'
import { isRecord } from '../../../core/connectors/fields/fields.ts'
import type { RawHeaders } from '../../../core/request/canonical.ts'
import { headerValue } from '../../../core/request/headers/headers.ts'
import type { ReplyStream } from '../reply.ts'

type AnswerHead = { readonly status: number; readonly headers: RawHeaders }
/** Error response of the upstream. `body` is its JSON object; null for other bodies. */
export type UpstreamError = {
  readonly status: number
  readonly text: string
  readonly body: ErrorObject | null
}

type Writing = {
  readonly format: EventFormat
  /** Returns the error in the format of the provider's API. */
  errorOf(error: UpstreamError): ErrorObject
}

/** Returns a stream that sends the upstream's response as the rest of an open event stream. */
export function eventAnswer(stream: ReplyStream, head: AnswerHead, writing: Writing): ReplyStream {
  const type = mediaType(head.headers)
  const isPlain = isIdentity(head.headers)
  if (isPlain && head.status < 300 && type === 'text/event-stream') return stream
  if (isPlain && head.status < 300 && type === 'application/json')
    return new JsonEvent(stream, writing.format)
  return new FailureEvent(stream, head, { ...writing, isReadable: isPlain && isText(type) })
}

function mediaType(headers: RawHeaders): string {
  const [type = ''] = (headerValue(headers, 'content-type') ?? '').toLowerCase().split(';')
  return type.trim()
}

function isIdentity(headers: RawHeaders): boolean {
  const coding = headerValue(headers, 'content-encoding')?.trim().toLowerCase() ?? ''
  return coding === '' || coding === 'identity'
}

function isText(type: string): boolean {
  return type === '' || type.startsWith('text/') || /[/+]json$/.test(type)
}

const LF = 0x0a
const CR = 0x0d

/**
 * Sends a JSON response as one event. Each line of the JSON becomes a `data:` line. The JSON stays the same, because
 * line ends between its tokens have no meaning.
 */
class JsonEvent implements ReplyStream {
  readonly #stream: ReplyStream
  readonly #format: EventFormat
  #isEmpty = true

  constructor(stream: ReplyStream, format: EventFormat) {
    this.#stream = stream
    this.#format = format
  }

  write(chunk: Buffer): boolean {
    if (chunk.length === 0) return true
    const lines = chunk.includes(LF) || chunk.includes(CR) ? onDataLines(chunk) : chunk
    const head = this.#isEmpty ? this.#format.answerHead : ''
    this.#isEmpty = false
    return this.#stream.write(head === '' ? lines : Buffer.concat([Buffer.from(head), lines]))
  }

  onDrain(callback: () => void): void {
    this.#stream.onDrain(callback)
  }

  end(): void {
    if (!this.#isEmpty) this.#stream.write(Buffer.from('\n\n'))
    this.#stream.end()
  }

  destroy(): void {
    this.#stream.destroy()
  }
}

/** Returns the chunk with a new `data:` line after each line end. Latin-1 preserves every byte. */
function onDataLines(chunk: Buffer): Buffer {
  return Buffer.from(chunk.toString('latin1').replaceAll(/[\r\n]/g, '\ndata: '), 'latin1')
}

/** Limit in bytes of an error body that is read to quote from it. */
const MAX_ERROR = 64 * 1024
const MAX_QUOTED = 500

/**
 * Sends one event in place of a response that cannot be embedded: an error, another media type, or a compressed body.
 */
class FailureEvent implements ReplyStream {
  readonly #stream: ReplyStream
  readonly #head: AnswerHead
  readonly #writing: Writing & { readonly isReadable: boolean }
  readonly #parts: Buffer[] = []
  #bytes = 0

  constructor(stream: ReplyStream, head: AnswerHead, writing: Writing & { readonly isReadable: boolean }) {
    this.#stream = stream
    this.#head = head
    this.#writing = writing
  }

  write(chunk: Buffer): boolean {
    if (this.#bytes < MAX_ERROR) this.#parts.push(chunk.subarray(0, MAX_ERROR - this.#bytes))
    this.#bytes += chunk.length
    return true
  }

  onDrain(callback: () => void): void {
    this.#stream.onDrain(callback)
  }

  end(): void {
    const { status } = this.#head
    const { format, errorOf, isReadable } = this.#writing
    // A success response without a body ends the stream without an event.
    if (status >= 300 || this.#bytes > 0) {
      const text = isReadable ? Buffer.concat(this.#parts).toString('utf8') : ''
      const error = errorOf({ status, text: this.#describe(text), body: jsonObject(text) })
      this.#stream.write(Buffer.from(format.failure(error, isFinalStatus(status))))
    }
    this.#stream.end()
  }

  destroy(): void {
    this.#stream.destroy()
  }

  #describe(text: string): string {
    const { status, headers } = this.#head
    const type = mediaType(headers)
    const kind = isIdentity(headers) ? type : `${type}, ${headerValue(headers, 'content-encoding')}-encoded`
    const said = text.trim().slice(0, MAX_QUOTED)
    const answered = `The upstream answered ${status}${kind === '' ? '' : ` (${kind.slice(0, 100)})`}`
    return said === '' ? `${answered}.` : `${answered}: ${said}`
  }
}

/** Returns the parsed JSON object; null for other text, including an object truncated at `MAX_ERROR`. */
function jsonObject(text: string): ErrorObject | null {
  try {
    const value: unknown = JSON.parse(text)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

/** Returns true when a repetition of the same request would have the same result, false for temporary errors. */
export function isFinalStatus(status: number): boolean {
  return status < 500 && status !== 429 && status !== 408
}
