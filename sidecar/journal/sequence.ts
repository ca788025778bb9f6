import { line } from './line.ts'

/** Number of sequence numbers that are reserved on disk before records use them. */
const RESERVED = 64

/**
 * Assigns sequence numbers to the records of this process. While numbers are tracked, the journal contains the reserved
 * numbers. After a power loss, the reserved numbers show which records are missing, including the last ones.
 */
export class Sequence {
  readonly #processId: string
  #next = 0
  /** Numbers of dropped intents, which are assigned again. */
  readonly #free: number[] = []
  /** Numbers that were taken and have no line on disk yet; null while numbers are not tracked. */
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

  /** Marks a number as having no line on disk. */
  unwritten(seq: number): void {
    this.#unwritten?.add(seq)
  }

  /** Marks a number as having a line on disk, or as known to be lost. */
  written(seq: number): void {
    this.#unwritten?.delete(seq)
  }

  /** Starts tracking of numbers. Numbers that were taken before are not tracked. */
  track(): void {
    if (this.#unwritten !== null) return
    this.#unwritten = new Set()
    this.#base = this.#passed
  }

  /** Marks every number taken so far as having a written record, or as known to be lost. */
  passed(): void {
    this.#passed = this.#next
  }

  /** Returns a line that reserves further numbers; empty while enough numbers are reserved, and without tracking. */
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
   * Returns the first line of a segment. The line states that every number below `base` has a line in an earlier
   * segment or a copy in this one, except the numbers that the line lists.
   */
  begin(): string {
    if (this.#unwritten === null) return ''
    this.#base = this.#next
    this.#reserved = this.#next + RESERVED
    return this.#line([...this.#unwritten])
  }

  /** Returns the last line of the process. The line states that no number above the last taken one was used. */
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
