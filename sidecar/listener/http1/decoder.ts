import { LIMITS } from '../../../core/wire/limits.ts'
import { chunkDigits } from '../../http/chunk-size.ts'
import type { BodyIntake } from '../body-intake.ts'

/** Decodes the body that follows a request head and passes it to the intake. */
export type BodyDecoder = {
  /**
   * Decodes the next bytes. Returns the bytes after the end of the body; null when there are none or the body is
   * incomplete. Decodes nothing after `problem` is set.
   */
  feed(bytes: Buffer): Buffer | null
  readonly isDone: boolean
  readonly problem: string | null
}

export class LengthDecoder implements BodyDecoder {
  isDone = false
  readonly problem = null
  readonly #intake: BodyIntake
  #left: number

  constructor(intake: BodyIntake, length: number) {
    this.#intake = intake
    this.#left = length
  }

  feed(bytes: Buffer): Buffer | null {
    if (bytes.length < this.#left) {
      this.#left -= bytes.length
      this.#intake.push(bytes)
      return null
    }
    const rest = bytes.length === this.#left ? null : bytes.subarray(this.#left)
    this.#intake.push(rest === null ? bytes : bytes.subarray(0, this.#left))
    this.isDone = true
    this.#intake.complete()
    return rest
  }
}

const TRAILER_LINE = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[\t\x20-\x7e\x80-\xff]*$/
const LINE_END = Buffer.from('\r\n')
/**
 * Limit of a chunk-size line with extensions, in bytes. Clients do not use extensions in practice, and unlimited ones
 * allow an attack.
 */
const MAX_SIZE_LINE = 256
const MAX_EXTENSION_BYTES = 4096

export class ChunkedDecoder implements BodyDecoder {
  isDone = false
  problem: string | null = null
  readonly #intake: BodyIntake
  #expects: 'size' | 'data' | 'data-end' | 'trailer' = 'size'
  #left = 0
  /** Bytes of an incomplete line. */
  #held: Buffer | null = null
  #extensionBytes = 0
  #trailerBytes = 0

  constructor(intake: BodyIntake) {
    this.#intake = intake
  }

  feed(bytes: Buffer): Buffer | null {
    const held = this.#held
    this.#held = null
    let rest = held === null ? bytes : Buffer.concat([held, bytes])
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
    this.#intake.push(used === bytes.length ? bytes : bytes.subarray(0, used))
    this.#left -= used
    if (this.#left === 0) this.#expects = 'data-end'
    return used
  }

  /** Parses one line and returns its length with CRLF; 0 when the line is incomplete. */
  #takeLine(bytes: Buffer): number {
    const limit = this.#expects === 'trailer' ? LIMITS.headerBlockBytes : MAX_SIZE_LINE
    const end = bytes.indexOf(LINE_END)
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
    const isBroken = this.#expects === 'data-end' ? bytes[0] !== 13 : bytes.includes(10)
    return isBroken ? this.#fail('lines of a chunked body must end with CRLF') : 0
  }

  #sizeLine(line: string): void {
    const digits = chunkDigits(line)
    if (digits === null) {
      this.#fail('a chunk size is not a hexadecimal number')
      return
    }
    this.#extensionBytes += line.length - digits.length
    if (this.#extensionBytes > MAX_EXTENSION_BYTES) this.#fail('the chunk extensions are too long')
    this.#left = Number.parseInt(digits, 16)
    this.#expects = this.#left === 0 ? 'trailer' : 'data'
  }

  /** Validates a trailer field and drops it. A field that affects the decision must not arrive after the decision. */
  #trailerLine(line: string): void {
    if (line === '') {
      this.isDone = true
      this.#intake.complete()
      return
    }
    this.#trailerBytes += line.length
    if (this.#trailerBytes > LIMITS.headerBlockBytes) this.#fail('the trailers are too long')
    if (!TRAILER_LINE.test(line)) this.#fail('a trailer is not a header line')
  }

  #fail(problem: string): number {
    this.problem = problem
    return 1
  }
}
