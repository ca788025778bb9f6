/** Size in bytes below which adjacent chunks are merged. */
const MERGED_BYTES = 16 * 1024

/**
 * Appends a chunk. Bytes that arrive one by one must cost neither quadratic time nor an object each. A small chunk is
 * therefore merged with its predecessor, unless the predecessor is longer; each byte is copied at most
 * log2(`MERGED_BYTES`) times.
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
