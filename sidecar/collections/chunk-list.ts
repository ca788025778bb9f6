/** Size in bytes below which adjacent chunks are merged. */
const MERGED_BYTES = 16 * 1024

/**
 * Appends a chunk. Merges small chunks with their predecessor, each byte at most log2(`MERGED_BYTES`) times, so that
 * bytes that arrive one by one cost neither quadratic time nor an object each.
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
