/** Size in bytes of a block, which holds about forty records. */
const BLOCK_BYTES = 64 * 1024
/** Maximum number of empty blocks that are kept for reuse. */
const MAX_FREE = 16

/** Size of the header of an item: its length in bytes, and one bit that is set when the item is removed. */
const HEADER_BYTES = 4
const REMOVED = 0x8000_0000
const LENGTH = 0x7fff_ffff

type Block = {
  readonly bytes: Buffer
  /**
   * `from`: offset of the oldest item that was not removed. `to`: end of the newest item. Both are equal when no item
   * is left.
   */
  from: number
  to: number
}

/** Empty blocks for reuse, shared by several queues. */
export class BlockPool {
  readonly #free: Buffer[] = []

  /** Returns a block with space for at least `bytes`. */
  take(bytes: number): Buffer {
    if (bytes > BLOCK_BYTES) return Buffer.allocUnsafeSlow(bytes)
    return this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES)
  }

  give(block: Buffer): void {
    if (block.length === BLOCK_BYTES && this.#free.length < MAX_FREE) this.#free.push(block)
  }
}

/**
 * Queue of byte strings in reusable blocks. Records are queued until they are uploaded, which is longer than V8 keeps
 * objects in the young generation. As separate objects they would move to the old generation, whose collection took a
 * twentieth of the CPU time of a request in the benchmark B1.
 */
export class ByteQueue {
  readonly #pool: BlockPool
  readonly #blocks: Block[] = []
  #size = 0

  constructor(pool = new BlockPool()) {
    this.#pool = pool
  }

  get size(): number {
    return this.#size
  }

  /** Adds a copy of the bytes, at most 2 GiB. */
  push(item: Uint8Array): void {
    const { bytes, to } = this.#reserve(HEADER_BYTES + item.length)
    bytes.writeUInt32LE(item.length, to)
    bytes.set(item, to + HEADER_BYTES)
    this.#size += 1
  }

  /** Yields the items, oldest first. The bytes of an item are valid until the item is removed. */
  *[Symbol.iterator](): Generator<Buffer, undefined> {
    for (const { bytes, from, to } of this.#blocks) {
      for (let at = from; at < to; ) {
        const header = bytes.readUInt32LE(at)
        const end = endOf(at, header)
        if (!isRemoved(header)) yield bytes.subarray(at + HEADER_BYTES, end)
        at = end
      }
    }
  }

  /** Removes up to `max` of the items that `isWanted` returns true for, oldest first. Returns their number. */
  remove(max: number, isWanted: (item: Buffer) => boolean): number {
    const before = this.#size
    for (const block of this.#blocks) {
      if (before - this.#size === max) break
      this.#removeFrom(block, max - (before - this.#size), isWanted)
    }
    this.#dropEmpty()
    return before - this.#size
  }

  /** Removes the oldest item, if there is one. */
  shift(): void {
    const oldest = this.#blocks[0]
    if (oldest === undefined) return
    oldest.from = endOf(oldest.from, oldest.bytes.readUInt32LE(oldest.from))
    oldest.from = firstLeft(oldest)
    this.#size -= 1
    this.#dropEmpty()
  }

  clear(): void {
    while (this.#blocks.length > 0) this.#dropOldest()
    this.#size = 0
  }

  #removeFrom(block: Block, max: number, isWanted: (item: Buffer) => boolean): void {
    const { bytes, to } = block
    const left = this.#size - max
    for (let at = block.from; at < to && this.#size > left; ) {
      const header = bytes.readUInt32LE(at)
      const end = endOf(at, header)
      if (!isRemoved(header) && isWanted(bytes.subarray(at + HEADER_BYTES, end))) {
        bytes.writeUInt32LE((header | REMOVED) >>> 0, at)
        this.#size -= 1
      }
      at = end
    }
    block.from = firstLeft(block)
  }

  /** Reserves `length` bytes in a block. Returns the block and the offset of these bytes. */
  #reserve(length: number): { readonly bytes: Buffer; readonly to: number } {
    const last = this.#blocks.at(-1)
    if (last !== undefined && length <= last.bytes.length - last.to) {
      const { to } = last
      last.to += length
      return { bytes: last.bytes, to }
    }
    const bytes = this.#pool.take(length)
    this.#blocks.push({ bytes, from: 0, to: length })
    return { bytes, to: 0 }
  }

  #dropEmpty(): void {
    while (this.#blocks[0] !== undefined && this.#blocks[0].from === this.#blocks[0].to) this.#dropOldest()
  }

  #dropOldest(): void {
    const block = this.#blocks.shift()
    if (block !== undefined) this.#pool.give(block.bytes)
  }
}

/** Returns the offset of the oldest item that was not removed. */
function firstLeft({ bytes, from, to }: Block): number {
  let at = from
  while (at < to) {
    const header = bytes.readUInt32LE(at)
    if (!isRemoved(header)) return at
    at = endOf(at, header)
  }
  return to
}

const endOf = (at: number, header: number): number => at + HEADER_BYTES + (header & LENGTH)
const isRemoved = (header: number): boolean => header >= REMOVED
