import { wordsOf } from '../words.ts'

/**
 * JSON tokens. A structural character (mark) is represented by its byte. `more`: the lexer has read all bytes up to the
 * given end; the last token may be incomplete. Tokens are numbers instead of strings, here and in the scanner, which
 * saves 1 µs of a request in the benchmark B1.
 */
export const TOKEN = {
  openObject: 0x7b,
  closeObject: 0x7d,
  openList: 0x5b,
  closeList: 0x5d,
  comma: 0x2c,
  colon: 0x3a,
  string: 0x22,
  /** A number, true, false or null. */
  word: 1,
  invalid: 2,
  more: 3,
} as const
export type Token = (typeof TOKEN)[keyof typeof TOKEN]

/** Maximum length of a number in bytes. The lexer rejects longer numbers, because no server keeps that many digits. */
export const MAX_NUMBER_BYTES = 1_024

const NO_BYTES = new Uint8Array(0)

/**
 * Tokenizes a JSON text (RFC 8259) in UTF-8. The lexer reads up to a given byte and later continues there, even inside
 * of a string. The bytes must be valid UTF-8.
 */
export class JsonLexer {
  /** Offsets of the first byte of the last token, and of the byte after the token. */
  start = 0
  end = 0
  #bytes: Uint8Array = NO_BYTES
  #at = 0
  /** True if the text before `#at` ends inside of a string that begins at `start`. */
  #isInString = false
  #hasEscapes = false

  begin(bytes: Uint8Array): void {
    this.#bytes = bytes
    this.start = 0
    this.end = 0
    this.#at = 0
    this.#isInString = false
    this.#hasEscapes = false
  }

  get startsWithBom(): boolean {
    const bytes = this.#bytes
    return bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf
  }

  next(limit: number): Token {
    if (this.#isInString) return this.#string(limit)
    const bytes = this.#bytes
    let at = this.#at
    while (at < limit && KIND[bytes[at] ?? 0] === BLANK) at += 1
    this.#at = at
    if (at >= limit) return TOKEN.more
    this.start = at
    return this.#begin(bytes[at] ?? 0, limit)
  }

  /** Returns the decoded text of the last string. */
  text(): string {
    const bytes = this.#bytes
    const [from, to] = [this.start + 1, this.end - 1]
    const inner = shortAscii(bytes, from, to) ?? UTF8.decode(bytes.subarray(from, to))
    return this.#hasEscapes ? String(JSON.parse(`"${inner}"`)) : inner
  }

  #begin(byte: number, limit: number): Token {
    if (isMark(byte)) {
      this.#at += 1
      this.end = this.#at
      return byte
    }
    if (byte === TOKEN.string) {
      this.#at += 1
      this.#isInString = true
      this.#hasEscapes = false
      return this.#string(limit)
    }
    return KIND[byte] === DIGIT || byte === MINUS ? this.#number() : this.#literal()
  }

  #string(limit: number): Token {
    for (let at = this.#at; ; ) {
      at = skipPlain(this.#bytes, at, limit)
      this.#at = at
      if (at >= limit) return TOKEN.more
      const byte = this.#bytes[at]
      if (byte === TOKEN.string) return this.#endString(at + 1)
      const length = byte === BACKSLASH ? this.#escape(at) : 0
      if (length === 0) return TOKEN.invalid
      this.#hasEscapes = true
      at += length
    }
  }

  #endString(at: number): Token {
    this.#at = at
    this.end = at
    this.#isInString = false
    return TOKEN.string
  }

  /**
   * Returns the length of the escape sequence at this offset; 0 if the sequence is invalid. The sequence may extend
   * beyond the slice.
   */
  #escape(at: number): number {
    const byte = this.#bytes[at + 1] ?? 0
    if (byte !== LOWER_U) return ESCAPED[byte] === 1 ? 2 : 0
    for (let digit = at + 2; digit < at + 6; digit++) {
      if (HEX[this.#bytes[digit] ?? 0] !== 1) return 0
    }
    return 6
  }

  /** Reads a number or literal completely, even beyond the slice, because both are short. */
  #number(): Token {
    const end = this.#wordEnd(MAX_NUMBER_BYTES)
    return NUMBER.test(this.#latin1(end)) ? this.#word(end) : TOKEN.invalid
  }

  #literal(): Token {
    const end = this.#wordEnd('false'.length)
    return LITERALS.has(this.#latin1(end)) ? this.#word(end) : TOKEN.invalid
  }

  #word(end: number): Token {
    this.#at = end
    this.end = end
    return TOKEN.word
  }

  #wordEnd(most: number): number {
    let at = this.#at
    const last = Math.min(this.#bytes.length, at + most + 1)
    while (at < last && !endsWord(this.#bytes[at] ?? 0)) at += 1
    return at
  }

  #latin1(end: number): string {
    let text = ''
    for (let at = this.#at; at < end; at++) text += String.fromCharCode(this.#bytes[at] ?? 0)
    return text.length > MAX_NUMBER_BYTES ? '' : text
  }
}

type Mark = Exclude<Token, typeof TOKEN.string | typeof TOKEN.word | typeof TOKEN.invalid | typeof TOKEN.more>

function isMark(byte: number): byte is Mark {
  return KIND[byte] === MARK
}

/** Reports whether the byte ends a number or a literal without belonging to it. */
function endsWord(byte: number): boolean {
  const kind = KIND[byte]
  return kind === BLANK || kind === MARK || kind === STRING
}

function skipPlain(bytes: Uint8Array, from: number, limit: number): number {
  const near = Math.min(limit, from + SHORT)
  let at = from
  while (at < near && IN_STRING[bytes[at] ?? 0] === 1) at += 1
  // `at` may exceed the limit, because an escape may extend beyond it.
  if (at < near || at >= limit) return at
  at = skipPlainBlocks(bytes, at, limit)
  while (at < limit && IN_STRING[bytes[at] ?? 0] === 1) at += 1
  return at
}

/**
 * Skips bytes of `IN_STRING`, and may stop up to one block of words early. Reads in blocks, because long strings make
 * up most of the requests to models.
 */
function skipPlainBlocks(bytes: Uint8Array, from: number, limit: number): number {
  const { start, words } = wordsOf(bytes, from, limit)
  for (let at = from; at < start; at++) {
    if (IN_STRING[bytes[at] ?? 0] !== 1) return at
  }
  let at = 0
  while (at < words.length) {
    const marks =
      marksOf(words[at]) | marksOf(words[at + 1]) | marksOf(words[at + 2]) | marksOf(words[at + 3])
    if ((marks & 0x80808080) !== 0) break
    at += 4
  }
  return start + at * words.BYTES_PER_ELEMENT
}

/**
 * Returns a word in which the highest bit of at least one byte is set if the given word contains a quote, a backslash
 * or a byte below 0x20.
 */
function marksOf(word = 0): number {
  const quote = (word ^ 0x22222222) - 0x01010101
  const slash = (word ^ 0x5c5c5c5c) - 0x01010101
  return (quote | slash | (word - 0x20202020)) & ~word
}

/** Parses one complete JSON value. A short string of ASCII characters without escapes needs no parser. */
export function parseValue(bytes: Uint8Array, start: number, end: number): unknown {
  if (bytes[start] === TOKEN.string) {
    const text = shortAscii(bytes, start + 1, end - 1)
    if (text !== null && !text.includes('\\')) return text
  }
  return JSON.parse(UTF8.decode(bytes.subarray(start, end)))
}

/** Decodes a short ASCII text, several times as fast as `TextDecoder`. Null for any other text. */
function shortAscii(bytes: Uint8Array, from: number, to: number): string | null {
  if (to - from > SHORT) return null
  let others = 0
  for (let at = from; at < to; at++) others |= bytes[at] ?? 0
  if (others >= 0x80) return null
  let text = ''
  let at = from
  for (; at + 4 <= to; at += 4) text += fourChars(bytes, at)
  for (; at < to; at++) text += String.fromCharCode(bytes[at] ?? 0)
  return text
}

function fourChars(bytes: Uint8Array, at: number): string {
  return String.fromCharCode(bytes[at] ?? 0, bytes[at + 1] ?? 0, bytes[at + 2] ?? 0, bytes[at + 3] ?? 0)
}

const SHORT = 24
const UTF8 = new TextDecoder('utf-8', { ignoreBOM: true })
const BACKSLASH = 0x5c
const MINUS = 0x2d
const LOWER_U = 0x75
const BLANK = 1
const DIGIT = 2
const MARK = 3
const STRING = 4

const NUMBER = /^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$/
const LITERALS: ReadonlySet<string> = new Set(['true', 'false', 'null'])

const KIND = new Uint8Array(256)
for (const char of ' \t\n\r') KIND[char.charCodeAt(0)] = BLANK
for (const char of '0123456789') KIND[char.charCodeAt(0)] = DIGIT
for (const char of '{}[],:') KIND[char.charCodeAt(0)] = MARK
KIND[TOKEN.string] = STRING

/** Table of the bytes that represent themselves in a string, including those of multi-byte UTF-8 characters. */
const IN_STRING = new Uint8Array(256).fill(1, 0x20)
IN_STRING[TOKEN.string] = 0
IN_STRING[BACKSLASH] = 0

const ESCAPED = new Uint8Array(256)
for (const char of '"\\/bfnrt') ESCAPED[char.charCodeAt(0)] = 1

const HEX = new Uint8Array(256)
for (const char of '0123456789abcdefABCDEF') HEX[char.charCodeAt(0)] = 1
