const WORD = 4
const BLOCK = 4 * WORD

/** Aligned middle of a byte range, as words of four bytes in blocks of four. `end - start` is a multiple of 16. */
export type Words = { readonly start: number; readonly end: number; readonly words: Int32Array }

/**
 * Returns the words between two offsets. A loop over words takes a third of the time of a loop over bytes. The caller
 * must process the bytes before `start` (at most 3) and from `end` on (at most 15).
 */
export function wordsOf(bytes: Uint8Array, from: number, to: number): Words {
  const misaligned = (bytes.byteOffset + from) % WORD
  const start = Math.min(to, misaligned === 0 ? from : from + WORD - misaligned)
  const blocks = Math.floor((to - start) / BLOCK)
  const isEmpty = blocks === 0
  return {
    start,
    end: start + blocks * BLOCK,
    words: isEmpty ? NONE : new Int32Array(bytes.buffer, bytes.byteOffset + start, blocks * WORD),
  }
}

const NONE = new Int32Array(0)
