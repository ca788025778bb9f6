import type { AggregateRow } from '../pipeline/ports.ts'
import { line } from './line.ts'

/**
 * Aggregate records that still change. Each changed record is written once in a turn of the event loop, and is copied
 * into the next segment.
 */
export class OpenAggregates {
  readonly #rows = new Map<string, AggregateRow>()
  /** Revision at which the full form of an aggregate record was last written, by id of the record. */
  readonly #written = new Map<string, number>()
  readonly #changed = new Set<AggregateRow>()

  get size(): number {
    return this.#rows.size
  }

  change(row: AggregateRow): void {
    this.#rows.set(row.id, row)
    this.#changed.add(row)
  }

  close(id: string): void {
    const row = this.#rows.get(id)
    if (row === undefined) return
    this.#rows.delete(id)
    this.#written.delete(id)
    this.#changed.delete(row)
  }

  /**
   * Returns one line for each record that changed since `takeLines` was last called: the full record when more than its
   * counters changed, otherwise only the counters.
   */
  takeLines(): string {
    let lines = ''
    for (const row of this.#changed) {
      const isKnown = this.#written.get(row.id) === row.revision
      lines += isKnown ? line('tally', row.tally()) : line('intent', row.json())
      this.#written.set(row.id, row.revision)
    }
    this.#changed.clear()
    return lines
  }

  /** Makes the next change of each record write its full form, because the last write failed. */
  invalidate(): void {
    this.#written.clear()
  }

  /** Returns lines with the full form of all aggregate records, for a new segment. */
  carried(): string {
    return [...this.#rows.values()].map((row) => line('intent', row.json())).join('')
  }
}
