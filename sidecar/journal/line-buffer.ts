import { lineEnd, type Phase } from './line.ts'

const PREFIX = {
  intent: Buffer.from('{"phase":"intent","record":'),
  result: Buffer.from('{"phase":"result","record":'),
} as const satisfies Partial<Record<Phase, Buffer>>
const FIRST_BYTES = 64 * 1024

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

  add(phase: 'intent' | 'result', recordJson: string | Buffer): void {
    const from = this.#used
    this.#put(PREFIX[phase])
    if (typeof recordJson === 'string') this.#putText(recordJson)
    else this.#put(recordJson)
    this.#putText(lineEnd(this.#space.subarray(from, this.#used)))
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
