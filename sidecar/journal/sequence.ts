import { line } from './line.ts'

/** Number of sequence numbers that are reserved on disk before records use them. */
const RESERVED = 64

/**
 * Assigns sequence numbers to the records of this process. With tracking, the journal contains the reserved numbers.
 * After a power loss they show which records are missing, also at the end.
 */
export class Sequence {
  readonly #processId: string
  #next = 0
  /** Numbers of dropped intents, for reuse. */
  readonly #free: number[] = []
  /** Numbers that were taken and have no line on disk yet; null without tracking. */
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

  /** Releases the number of a dropped record. */
  release(seq: number): void {
    this.#free.push(seq)
    this.unwritten(seq)
  }

  /** Marks a number as without a line on disk. */
  unwritten(seq: number): void {
    this.#unwritten?.add(seq)
  }

  /** Marks a number as written, or as known to be lost. */
  written(seq: number): void {
    this.#unwritten?.delete(seq)
  }

  /** Starts tracking. Numbers taken before are not tracked. */
  track(): void {
    if (this.#unwritten !== null) return
    this.#unwritten = new Set()
    this.#base = this.#passed
  }

  /** Marks every number so far as having a written record, or as known to be lost. */
  passed(): void {
    this.#passed = this.#next
  }

  /**
   * Returns the line to write before the reserved numbers run out; empty while enough are left, or without tracking.
   */
  reserve(): string {
    if (!this.isTracked || this.#next + RESERVED / 2 <= this.#reserved) return ''
    this.#reserved = this.#next + RESERVED
    return this.#line([])
  }

  /** Makes the next line reserve numbers again, because the last write failed. */
  invalidate(): void {
    this.#reserved = 0
  }

  /**
   * Returns the first line of a segment: every number below `base` is in an earlier segment, carried over, or listed.
   */
  begin(): string {
    if (this.#unwritten === null) return ''
    this.#base = this.#next
    this.#reserved = this.#next + RESERVED
    return this.#line([...this.#unwritten])
  }

  /** Returns the last line of the process: no further number was taken. */
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
