import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { RequestTemplate } from '../../pipeline/request-template.ts'
import { type HeadResult, type RequestHead, readHead } from './head.ts'

/**
 * The last request head of a connection. A client that sends the same head again, except for the digits of
 * Content-Length, gets the same result without another parse.
 */
export class HeadMemo {
  /** Cached results for requests with the last head. */
  template = new RequestTemplate()
  #head: RequestHead | null = null
  /** The head with the empty line that ends it. */
  #bytes: Buffer = NONE
  /** Offsets of the digits of Content-Length. Without Content-Length both are the length of the head. */
  #from = 0
  #to = 0

  /** Parses the head at the start of `bytes` like `readHead`, or returns the last head if `bytes` start with it. */
  read(bytes: Buffer, searched: number): HeadResult {
    const known = this.#match(bytes)
    if (known !== null) return known
    const result = readHead(bytes, searched)
    if (result.kind === 'head') this.#keep(bytes, result.end, result.head)
    return result
  }

  #keep(bytes: Buffer, end: number, head: RequestHead): void {
    const kept = Buffer.from(bytes.subarray(0, end))
    const [from, to] = head.framing.body === 'length' ? digitsOf(kept) : [end, end]
    this.template = new RequestTemplate()
    this.#head = head
    this.#bytes = kept
    this.#from = from
    this.#to = to
  }

  /** Returns the head at the start of `bytes` if it equals the last one, except for the length of the body. */
  #match(bytes: Buffer): HeadResult | null {
    const head = this.#head
    const from = this.#from
    if (head === null || bytes.length < from || bytes.compare(this.#bytes, 0, from, 0, from) !== 0)
      return null
    const to = from === this.#to ? from : endOfDigits(bytes, from)
    const end = to + this.#bytes.length - this.#to
    const isSame = to !== -1 && end <= bytes.length && end <= LIMITS.headerBlockBytes
    if (!isSame || bytes.compare(this.#bytes, this.#to, this.#bytes.length, to, end) !== 0) return null
    if (to === this.#to && bytes.compare(this.#bytes, from, to, from, to) === 0)
      return { kind: 'head', head, end }
    return { kind: 'head', head: withLength(head, bytes.toString('latin1', from, to)), end }
  }
}

const NONE = Buffer.alloc(0)
const CONTENT_LENGTH = /\r\ncontent-length:[ \t]*([1-9]\d{0,14})[ \t]*\r\n/i
const [ZERO, ONE, NINE] = [0x30, 0x31, 0x39]
const MAX_DIGITS = 15

/** Returns the offsets of the digits of Content-Length. Without such digits, both are the length of the head. */
function digitsOf(head: Buffer): readonly [from: number, to: number] {
  const found = CONTENT_LENGTH.exec(head.toString('latin1'))
  const digits = found?.[1]
  if (found === null || digits === undefined) return [head.length, head.length]
  const from = found.index + found[0].lastIndexOf(digits)
  return [from, from + digits.length]
}

/** Returns the offset after a number without leading zeros; -1 for other bytes. */
function endOfDigits(bytes: Buffer, from: number): number {
  if ((bytes[from] ?? 0) < ONE) return -1
  let at = from
  while (isDigit(bytes[at])) at++
  return at === from || at - from > MAX_DIGITS ? -1 : at
}

function isDigit(byte = 0): boolean {
  return byte >= ZERO && byte <= NINE
}

function withLength(head: RequestHead, digits: string): RequestHead {
  const { rawHeaders, framing } = head
  const isLength = (at: number) => rawHeaders[at - 1]?.toLowerCase() === 'content-length'
  return {
    ...head,
    rawHeaders: rawHeaders.map((text, at) => (at % 2 === 1 && isLength(at) ? digits : text)),
    framing: { ...framing, length: Number(digits) },
  }
}
