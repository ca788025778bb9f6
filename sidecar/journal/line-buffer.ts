import { crc32 } from 'node:zlib'
import { lineEnd, type Phase } from './line.ts'

const PREFIX = {
  intent: Buffer.from('{"phase":"intent","record":'),
  result: Buffer.from('{"phase":"result","record":'),
} as const satisfies Partial<Record<Phase, Buffer>>
const FIRST_BYTES = 64 * 1024
/** End of a line with a placeholder checksum, whose digits `add` replaces. */
const END = Buffer.from(lineEnd(''))
const CRC_AT = END.indexOf('0')
const CRC_DIGITS = 8
const HEX = Buffer.from('0123456789abcdef')

/**
 * Buffer of pending lines as bytes. Every write reuses it, because strings would be concatenated, flattened and encoded
 * on every write.
 */
export class LineBuffer {
  #space = Buffer.allocUnsafeSlow(FIRST_BYTES)
  #used = 0

  get bytes(): number {
    return this.#used
  }

  add(phase: 'intent' | 'result', recordJson: Buffer): void {
    const from = this.#used
    this.#put(PREFIX[phase])
    this.#put(recordJson)
    const crc = crc32(this.#space.subarray(from, this.#used))
    this.#put(END)
    this.#setCrc(this.#used - END.length + CRC_AT, crc)
  }

  /** Adds complete lines. */
  addText(lines: string): void {
    this.#putText(lines)
  }

  /** Returns all lines and empties the buffer. The returned bytes are valid until the next line is added. */
  take(): Buffer {
    const lines = this.#space.subarray(0, this.#used)
    this.#used = 0
    return lines
  }

  #put(bytes: Buffer): void {
    this.#reserve(bytes.length)
    this.#space.set(bytes, this.#used)
    this.#used += bytes.length
  }

  /** Replaces the checksum at the offset. Digits that are set one by one need no string. */
  #setCrc(from: number, crc: number): void {
    for (let at = 0; at < CRC_DIGITS; at++)
      this.#space[from + at] = HEX[(crc >>> (4 * (CRC_DIGITS - 1 - at))) & 15] ?? 0
  }

  /** Adds text as UTF-8. Reserves three bytes for each UTF-16 code unit, the maximum of UTF-8. */
  #putText(text: string): void {
    this.#reserve(text.length * 3)
    this.#used += this.#space.write(text, this.#used)
  }

  #reserve(bytes: number): void {
    const needed = this.#used + bytes
    if (needed <= this.#space.length) return
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, this.#space.length * 2))
    larger.set(this.#space.subarray(0, this.#used))
    this.#space = larger
  }
}
