/** Enough for some sixty records. */
const BLOCK_BYTES = 64 * 1024
/** Blocks that wait to be used again; more were needed only while the control plane was away. */
const MAX_SPARE = 16

type Block = { readonly bytes: Buffer; used: number; held: number }

/**
 * JSON of records that wait for a while, as bytes in blocks that are used again. A record lives a few tenths of a
 * second: as an object of its own, text or buffer, it would just have become old when it is over, and would stay until
 * all old objects are looked at.
 */
export class RecordSpace {
  readonly #spare: Block[] = []
  #block = newBlock(BLOCK_BYTES)

  hold(json: string): HeldRecord {
    // UTF-8 takes three bytes at most for what is one unit of a string.
    const most = json.length * 3
    const block = most > BLOCK_BYTES ? newBlock(most) : this.#blockFor(most)
    const from = block.used
    block.used += block.bytes.write(json, from)
    block.held++
    return new HeldRecord(block, from, block.used)
  }

  /** Once, by who held it: from then on its bytes may be another record's. */
  release({ block }: HeldRecord): void {
    block.held--
    if (block.held > 0 || block.bytes.length !== BLOCK_BYTES) return
    block.used = 0
    if (block !== this.#block && this.#spare.length < MAX_SPARE) this.#spare.push(block)
  }

  #blockFor(bytes: number): Block {
    if (this.#block.used + bytes > BLOCK_BYTES) this.#block = this.#spare.pop() ?? newBlock(BLOCK_BYTES)
    return this.#block
  }
}

export class HeldRecord {
  readonly block: Block
  readonly #from: number
  readonly #to: number

  constructor(block: Block, from: number, to: number) {
    this.block = block
    this.#from = from
    this.#to = to
  }

  get length(): number {
    return this.#to - this.#from
  }

  /** Returns how many bytes it were. */
  copyTo(target: Buffer, at: number): number {
    return this.block.bytes.copy(target, at, this.#from, this.#to)
  }

  toString(): string {
    return this.block.bytes.toString('utf8', this.#from, this.#to)
  }
}

function newBlock(bytes: number): Block {
  return { bytes: Buffer.allocUnsafeSlow(bytes), used: 0, held: 0 }
}
