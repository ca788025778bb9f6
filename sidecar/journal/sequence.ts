import { line } from './line.ts'

/** Numbers that are on the disk as possibly taken before records have them. */
const RESERVED = 64

/**
 * Gives the records of this process their sequence numbers. Once it is tracked, lines of the journal tell how far they
 * went: after a power loss they show which records are missing, also at the end, where no later number would.
 */
export class Sequence {
  readonly #processId: string
  #next = 0
  /** Numbers of dropped intents, given to the next records. */
  readonly #free: number[] = []
  /** Numbers that were taken and have no line yet; null while they are not tracked. */
  #unwritten: Set<number> | null = null
  #base = 0
  #passed = 0
  #reserved = 0

  constructor(processId: string) {
    this.#processId = processId
  }

  get isTracked(): boolean {
    return this.#unwritten !== null
  }

  take(): number {
    const seq = this.#free.pop() ?? this.#next++
    this.unwritten(seq)
    return seq
  }

  /** The record was dropped. */
  release(seq: number): void {
    this.#free.push(seq)
    this.unwritten(seq)
  }

  /** No line is known to hold it. */
  unwritten(seq: number): void {
    this.#unwritten?.add(seq)
  }

  /** A line holds it, or it is known as lost. */
  written(seq: number): void {
    this.#unwritten?.delete(seq)
  }

  /** From now on. Numbers that were taken before are not missed. */
  track(): void {
    if (this.#unwritten !== null) return
    this.#unwritten = new Set()
    this.#base = this.#passed
  }

  /** The records of all numbers so far are written, or known as lost. */
  passed(): void {
    this.#passed = this.#next
  }

  /** The line to write before the reserved numbers run out; empty while there are enough, or without tracking. */
  reserve(): string {
    if (!this.isTracked || this.#next + RESERVED / 2 <= this.#reserved) return ''
    this.#reserved = this.#next + RESERVED
    return this.#line([])
  }

  /** The last line was not written. */
  invalidate(): void {
    this.#reserved = 0
  }

  /** The first line of a segment: all numbers below `base` are in those before it, carried, or listed. */
  begin(): string {
    if (this.#unwritten === null) return ''
    this.#base = this.#next
    this.#reserved = this.#next + RESERVED
    return this.#line([...this.#unwritten])
  }

  /** The last line of the process: no further number was taken. */
  end(): string {
    if (!this.isTracked) return ''
    this.#reserved = this.#next
    return this.#line([])
  }

  #line(unwritten: readonly number[]): string {
    return line(
      'sequence',
      JSON.stringify({ id: this.#processId, base: this.#base, unwritten, reserved: this.#reserved }),
    )
  }
}
