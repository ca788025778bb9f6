import { chunkDigits } from './chunk-size.ts'
import { parseFields } from './field-lines.ts'

/** Receives the decoded body. */
export type BodySink = {
  push(chunk: Buffer): void
  /**
   * Called when the body is complete. `trailers` contains names and values, alternating; it is empty without trailers.
   */
  complete(trailers: readonly string[]): void
}

/** Decodes the body that follows a head. */
export type BodyDecoder = {
  /**
   * Decodes the next bytes. Returns the bytes after the body; null when there are none or the body is incomplete.
   * Decodes nothing after `problem` is set.
   */
  feed(bytes: Buffer): Buffer | null
  readonly isDone: boolean
  readonly problem: string | null
}

const NO_TRAILERS: readonly string[] = []

export class LengthDecoder implements BodyDecoder {
  isDone = false
  readonly problem = null
  readonly #sink: BodySink
  #left: number

  constructor(sink: BodySink, length: number) {
    this.#sink = sink
    this.#left = length
  }

  feed(bytes: Buffer): Buffer | null {
    if (bytes.length < this.#left) {
      this.#left -= bytes.length
      this.#sink.push(bytes)
      return null
    }
    const rest = bytes.length === this.#left ? null : bytes.subarray(this.#left)
    this.#sink.push(rest === null ? bytes : bytes.subarray(0, this.#left))
    this.isDone = true
    this.#sink.complete(NO_TRAILERS)
    return rest
  }
}

/** Decodes a body that ends when the connection closes. The owner of the connection calls `complete` at that moment. */
export class CloseDecoder implements BodyDecoder {
  isDone = false
  readonly problem = null
  readonly #sink: BodySink

  constructor(sink: BodySink) {
    this.#sink = sink
  }

  feed(bytes: Buffer): Buffer | null {
    this.#sink.push(bytes)
    return null
  }

  complete(): void {
    this.isDone = true
    this.#sink.complete(NO_TRAILERS)
  }
}

const LINE_END = Buffer.from('\r\n')
const CR = 13
const LF = 10
/**
 * Matches fields that are forbidden in trailers. A reader that merges trailers into the headers would read another body
 * length.
 */
const FRAMING = /^(content-length|transfer-encoding)$/i

/** Limits of a chunked body, in bytes. A body beyond one of them is malformed. */
export type ChunkLimits = {
  /** Maximum length of a chunk-size line with its extensions. */
  readonly sizeLineBytes: number
  /** Maximum total length of the chunk extensions. */
  readonly extensionBytes: number
  /** Maximum total length of the trailers. */
  readonly trailerBytes: number
}

export class ChunkedDecoder implements BodyDecoder {
  isDone = false
  problem: string | null = null
  readonly #sink: BodySink
  #expects: 'size' | 'data' | 'data-end' | 'trailer' = 'size'
  #left = 0
  /** Bytes of an incomplete line. */
  #held: Buffer | null = null
  #extensionBytes = 0
  #trailers = ''
  readonly #limits: ChunkLimits

  constructor(sink: BodySink, limits: ChunkLimits) {
    this.#sink = sink
    this.#limits = limits
  }

  feed(bytes: Buffer): Buffer | null {
    let rest = this.#held === null ? bytes : Buffer.concat([this.#held, bytes])
    this.#held = null
    while (rest.length > 0 && !this.isDone && this.problem === null) {
      const used = this.#expects === 'data' ? this.#takeData(rest) : this.#takeLine(rest)
      if (used === 0) {
        this.#held = rest
        return null
      }
      rest = rest.subarray(used)
    }
    return this.isDone && rest.length > 0 ? rest : null
  }

  #takeData(bytes: Buffer): number {
    const used = Math.min(bytes.length, this.#left)
    this.#left -= used
    if (this.#left === 0) this.#expects = 'data-end'
    this.#sink.push(used === bytes.length ? bytes : bytes.subarray(0, used))
    return used
  }

  /** Parses one line and returns its length with CRLF; 0 when the line is incomplete. */
  #takeLine(bytes: Buffer): number {
    const end = bytes.indexOf(LINE_END)
    const { trailerBytes, sizeLineBytes } = this.#limits
    const limit = this.#expects === 'trailer' ? trailerBytes : sizeLineBytes
    if ((end === -1 ? bytes.length : end) > limit) return this.#fail('a line of the chunked body is too long')
    if (end === -1) return this.#checkUnfinished(bytes)
    const line = bytes.toString('latin1', 0, end)
    if (this.#expects === 'size') this.#sizeLine(line)
    else if (this.#expects === 'trailer') this.#trailerLine(line)
    else if (line === '') this.#expects = 'size'
    else return this.#fail('a chunk is longer than its declared size')
    return end + 2
  }

  #checkUnfinished(bytes: Buffer): number {
    const isBroken = this.#expects === 'data-end' ? bytes[0] !== CR || bytes.length > 1 : bytes.includes(LF)
    return isBroken ? this.#fail('lines of a chunked body must end with CRLF') : 0
  }

  #sizeLine(line: string): void {
    const digits = chunkDigits(line)
    if (digits === null) {
      this.#fail('a chunk size is not a hexadecimal number')
      return
    }
    this.#extensionBytes += line.length - digits.length
    if (this.#extensionBytes > this.#limits.extensionBytes) this.#fail('the chunk extensions are too long')
    this.#left = Number.parseInt(digits, 16)
    this.#expects = this.#left === 0 ? 'trailer' : 'data'
  }

  #trailerLine(line: string): void {
    if (line !== '') {
      this.#trailers += this.#trailers === '' ? line : `\r\n${line}`
      if (this.#trailers.length > this.#limits.trailerBytes) this.#fail('the trailers are too long')
      return
    }
    const trailers: string[] = []
    const detail = this.#trailers === '' ? null : parseFields(this.#trailers, 0, trailers)
    if (detail !== null) {
      this.#fail(detail)
      return
    }
    if (trailers.some((name, at) => at % 2 === 0 && FRAMING.test(name))) {
      this.#fail('the trailers contain a framing header')
      return
    }
    this.isDone = true
    this.#sink.complete(trailers)
  }

  #fail(problem: string): number {
    this.problem = problem
    return 1
  }
}
