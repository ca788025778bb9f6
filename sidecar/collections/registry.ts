/** A place on a roster: kept by whoever took it, to leave again. */
export type Seat<T> = { item: T | null; at: number }

/**
 * Who is there just now, where thousands come and go every second. A Set would do, were it not that each table it
 * outgrows points to the next: one that became old keeps all later ones, and every exchange that was in them, from
 * the collector of young objects. Here leaving leaves nothing behind.
 */
export class Roster<T> {
  readonly #seats: Seat<T>[] = []

  get size(): number {
    return this.#seats.length
  }

  add(item: T): Seat<T> {
    const seat = { item, at: this.#seats.length }
    this.#seats.push(seat)
    return seat
  }

  /** The last one takes the free place. Leaving twice is leaving once. */
  remove(seat: Seat<T>): void {
    if (seat.item === null) return
    seat.item = null
    const last = this.#seats.pop()
    if (last === undefined || last === seat) return
    last.at = seat.at
    this.#seats[seat.at] = last
  }

  /** A copy: whoever is on it may leave while it is gone through. */
  all(): T[] {
    const items: T[] = []
    for (const { item } of this.#seats) if (item !== null) items.push(item)
    return items
  }
}
