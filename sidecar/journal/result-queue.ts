import { type BlockPool, ByteQueue } from '../collections/byte-queue.ts'
import { recordIdOf } from './line.ts'

/** Results as record id and record JSON, oldest first. A `Map<string, Buffer>` has this type. */
export type Results = {
  readonly size: number
  keys(): Iterable<string>
  values(): Iterable<Buffer>
  [Symbol.iterator](): Iterator<readonly [string, Buffer]>
}

/**
 * Results of one segment in memory, oldest first. Only their JSON is kept; ids are read from it when they are needed.
 */
export class ResultQueue {
  readonly #queue: ByteQueue

  constructor(pool: BlockPool) {
    this.#queue = new ByteQueue(pool)
  }

  get size(): number {
    return this.#queue.size
  }

  push(recordJson: Uint8Array): void {
    this.#queue.push(recordJson)
  }

  /** Returns the oldest `max` results. They are valid until results are removed. */
  first(max: number): Results {
    return new FirstResults(this.#queue, Math.min(max, this.#queue.size))
  }

  /**
   * Removes the results with these ids from the queue, and the ids of the removed results from `ids`. Returns the
   * number of removed results.
   */
  remove(ids: Set<string>): number {
    return this.#queue.remove(ids.size, (json) => ids.delete(recordIdOf(json)))
  }

  clear(): void {
    this.#queue.clear()
  }
}

class FirstResults implements Results {
  readonly size: number
  readonly #queue: ByteQueue

  constructor(queue: ByteQueue, size: number) {
    this.#queue = queue
    this.size = size
  }

  *keys(): Generator<string, undefined> {
    for (const json of this.values()) yield recordIdOf(json)
  }

  *values(): Generator<Buffer, undefined> {
    let left = this.size
    if (left === 0) return
    for (const json of this.#queue) {
      yield json
      left -= 1
      if (left === 0) return
    }
  }

  *[Symbol.iterator](): Generator<readonly [string, Buffer], undefined> {
    for (const json of this.values()) yield [recordIdOf(json), json]
  }
}
