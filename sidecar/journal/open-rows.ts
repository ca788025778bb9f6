import type { GrowingRow } from '../pipeline/ports.ts'
import { line } from './line.ts'

/** Rows that still grow: they are written once a turn, and carried into the next segment. */
export class OpenRows {
  readonly #rows = new Map<string, GrowingRow>()
  /** The revision of each row that is on disk as a whole. */
  readonly #written = new Map<string, number>()
  readonly #changed = new Set<GrowingRow>()

  get size(): number {
    return this.#rows.size
  }

  change(row: GrowingRow): void {
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

  /** What has changed since the last call: the whole record when more than its numbers did. */
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

  /** The lines of the last call did not reach the disk: each row is written whole with its next change. */
  invalidate(): void {
    this.#written.clear()
  }

  /** All of them, whole. */
  carried(): string {
    return [...this.#rows.values()].map((row) => line('intent', row.json())).join('')
  }
}
