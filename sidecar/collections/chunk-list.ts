/** Chunks below this are merged. */
const MERGED_BYTES = 16 * 1024

/**
 * Adds a chunk to a list. Small ones are merged with the one before, each byte at most log2(`MERGED_BYTES`) times: bytes
 * that arrive one by one take neither quadratic time nor an object each.
 */
export function addChunk(chunks: Buffer[], chunk: Buffer): void {
  chunks.push(chunk)
  for (let last = chunk; last.length < MERGED_BYTES; ) {
    const before = chunks.at(-2)
    if (before === undefined || before.length > last.length) return
    last = Buffer.concat([before, last])
    chunks.splice(-2, 2, last)
  }
}
