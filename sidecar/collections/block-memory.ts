/** Size in bytes of a block, which holds some forty records. */
const BLOCK_BYTES = 64 * 1024
/** Number of empty blocks that are kept for the next copies. */
const MAX_FREE = 16

type Block = { readonly bytes: Buffer; used: number; copies: number }

/**
 * Holds copies of byte strings that live for a while, in blocks that are used again once all copies in them are released.
 *
 * A record waits for its upload, and among the recent records, longer than the young generation lasts. As garbage, the
 * bytes of 3,000 records were as much as V8 lets the old generation grow until it collects it, which takes 30 ms of CPU
 * time.
 */
export class BlockMemory {
  readonly #blocks = new Map<ArrayBufferLike, Block>()
  readonly #free: Block[] = []
  #current: Block | null = null

  /** Copies the bytes. A copy that is never released is freed with the memory itself. */
  copy(bytes: Uint8Array): Buffer {
    const { length } = bytes
    if (length > BLOCK_BYTES) return Buffer.from(bytes)
    const block = this.#withRoom(length)
    const from = block.used
    block.used += length
    block.copies += 1
    block.bytes.set(bytes, from)
    return block.bytes.subarray(from, block.used)
  }

  /** Releases a copy. Its bytes are undefined afterwards. Does nothing for bytes that `copy` did not return. */
  release(copy: Buffer): void {
    const block = this.#blocks.get(copy.buffer)
    if (block === undefined) return
    block.copies -= 1
    if (block.copies > 0) return
    block.used = 0
    if (block === this.#current) return
    if (this.#free.length < MAX_FREE) this.#free.push(block)
    else this.#blocks.delete(block.bytes.buffer)
  }

  #withRoom(length: number): Block {
    if (this.#current !== null && length <= BLOCK_BYTES - this.#current.used) return this.#current
    this.#current = this.#free.pop() ?? this.#newBlock()
    return this.#current
  }

  #newBlock(): Block {
    const block = { bytes: Buffer.allocUnsafeSlow(BLOCK_BYTES), used: 0, copies: 0 }
    this.#blocks.set(block.bytes.buffer, block)
    return block
  }
}
