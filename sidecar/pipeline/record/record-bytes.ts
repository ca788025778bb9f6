/** Size in bytes of a block of about twenty records. A larger record has a buffer of its own. */
const BLOCK_BYTES = 16 * 1024

/**
 * Creates the function that copies encoded records into blocks that contain only records. Node would allocate records
 * from a pool that is shared with short-lived buffers. A record that waits for its upload would retain that pool, three
 * times its own size. Space is never reused; a block is freed with the last of its records.
 */
export function createRecordBytes(): (json: Uint8Array) => Buffer {
  let block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
  let used = 0
  return (json) => {
    const { length } = json
    if (length > BLOCK_BYTES) return Buffer.from(json)
    if (length > BLOCK_BYTES - used) {
      block = Buffer.allocUnsafeSlow(BLOCK_BYTES)
      used = 0
    }
    const from = used
    used += length
    block.set(json, from)
    return block.subarray(from, used)
  }
}
