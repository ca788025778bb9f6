/** About twenty records. A larger one has a space of its own. */
const BLOCK_BYTES = 16 * 1024

/**
 * Records as UTF-8, one behind the other in blocks that hold nothing else. Node would cut them from blocks that they
 * share with heads and answers that die at once, and a record that waits for its upload would keep all of these: three
 * times its own size. No space is used twice: a block goes when the last of its records has gone.
 */
export function createRecordBytes(): (json: string) => Buffer {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let used = 0
  return (json) => {
    const length = Buffer.byteLength(json)
    if (length > BLOCK_BYTES) return Buffer.from(json)
    if (length > BLOCK_BYTES - used) {
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      used = 0
    }
    const from = used
    used += length
    block.write(json, from)
    return block.subarray(from, used)
  }
}
