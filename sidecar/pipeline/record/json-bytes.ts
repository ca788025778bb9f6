/** Size of the buffer in bytes at the start. It grows to the longest text. */
const FIRST_BYTES = 4 * 1024
/** Number of characters up to which a loop encodes a string faster than `Buffer.write`. */
const SHORT = 80
const QUOTE = 0x22
const BACKSLASH = 0x5c
const ZERO = 0x30
const DOT = 0x2e

/**
 * Writes JSON texts as UTF-8 into one buffer, which is reused for every text. Joined strings that are encoded
 * afterwards cost three times as much CPU time, and memory of twice the length of the text.
 */
export class JsonBytes {
  #space: Buffer = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #used = 0

  begin(): void {
    this.#used = 0
  }

  /** Returns the text since `begin`. The bytes are valid until the next `begin`. */
  end(): Buffer {
    return this.#space.subarray(0, this.#used)
  }

  /** Adds a part of a JSON text that is encoded already. */
  bytes(part: Uint8Array): void {
    this.#reserve(part.length)
    this.#space.set(part, this.#used)
    this.#used += part.length
  }

  /** Adds a part of a JSON text. The part must be well-formed UTF-16. */
  raw(part: string): void {
    this.#reserve(part.length * 3)
    if (!this.#addAscii(part)) this.#used += this.#space.write(part, this.#used)
  }

  string(value: string): void {
    this.#reserve(value.length + 2)
    if (!this.#addPlain(value)) this.raw(JSON.stringify(value))
  }

  nullable(value: string | null): void {
    if (value === null) this.raw('null')
    else this.string(value)
  }

  /** Adds a number. NaN and infinities have no JSON form; they become 0, so that the text stays valid JSON. */
  number(value: number): void {
    if (value >= 0 && (value | 0) === value) {
      this.#reserve(MAX_DIGITS)
      this.#addDigits(value, digitsOf(value))
      return
    }
    const thousandths = Math.round(value * 1000)
    const isExact = thousandths >= 0 && thousandths < MAX_EXACT && thousandths / 1000 === value
    if (!isExact) this.raw(Number.isFinite(value) ? String(value) : '0')
    else this.#addThousandths(thousandths)
  }

  /** Adds a short string of ASCII characters. Returns false for other strings, and then adds nothing. */
  #addAscii(part: string): boolean {
    const { length } = part
    if (length > SHORT) return false
    const space = this.#space
    const from = this.#used
    for (let at = 0; at < length; at++) {
      const code = part.charCodeAt(at)
      if (code >= 0x80) return false
      space[from + at] = code
    }
    this.#used = from + length
    return true
  }

  /** Adds a short string between quotes. Returns false for a string that needs escapes, and then adds nothing. */
  #addPlain(value: string): boolean {
    const { length } = value
    if (length > SHORT) return false
    const space = this.#space
    let to = this.#used
    space[to++] = QUOTE
    for (let at = 0; at < length; at++) {
      const code = value.charCodeAt(at)
      if (code < 0x20 || code >= 0x80 || code === QUOTE || code === BACKSLASH) return false
      space[to++] = code
    }
    space[to++] = QUOTE
    this.#used = to
    return true
  }

  /** Adds `thousandths / 1000` as a decimal number without trailing zeros. */
  #addThousandths(thousandths: number): void {
    this.#reserve(MAX_DIGITS)
    const whole = (thousandths / 1000) | 0
    this.#addDigits(whole, digitsOf(whole))
    let rest = thousandths - whole * 1000
    if (rest === 0) return
    this.#space[this.#used++] = DOT
    let count = 3
    for (; rest % 10 === 0; rest /= 10) count -= 1
    this.#addDigits(rest, count)
  }

  #addDigits(value: number, count: number): void {
    let left = value
    for (let at = this.#used + count - 1; at >= this.#used; at--) {
      const next = (left / 10) | 0
      this.#space[at] = ZERO + left - next * 10
      left = next
    }
    this.#used += count
  }

  #reserve(bytes: number): void {
    const needed = this.#used + bytes
    if (needed <= this.#space.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#space.length * 2))
    larger.set(this.#space.subarray(0, this.#used))
    this.#space = larger
  }
}

/** Numbers of thousandths below this bound are written with 32-bit integer arithmetic, others by `String`. */
const MAX_EXACT = 2 ** 31
/** Number of characters of the longest number that is written digit by digit, `2147483.647`. */
const MAX_DIGITS = 11

function digitsOf(value: number): number {
  let count = 1
  for (let bound = 10; value >= bound; bound *= 10) count += 1
  return count
}
