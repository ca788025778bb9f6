import { FormSearch } from './form-search.ts'

/** Mask of a stream of bytes. `push` returns the bytes that may be forwarded, `end` the remaining ones. */
export type StreamMask = { push(chunk: Buffer): Buffer; end(): Buffer }

const STAR = 0x2a

/**
 * Creates a mask that replaces each byte of every occurrence of the forms by `*`. The forms are in lower case, and have
 * one character for each byte (`latin1`). The mask holds back only bytes that may be the beginning of an occurrence.
 * Its work is proportional to the bytes of the stream. `onMasked` is called for each chunk in which an occurrence ends.
 */
export function createStreamMask(forms: readonly string[], onMasked: () => void): StreamMask {
  const searches = forms.map((form) => new FormSearch(form))
  const held = new HeldBytes()
  return {
    push(chunk) {
      const text = chunk.toString('latin1').toLowerCase()
      const found = searches.flatMap((search) => search.push(text))
      const length = Math.max(0, ...searches.map((search) => search.matched))
      if (found.length > 0) onMasked()
      if (found.length + length + held.length === 0) return chunk
      held.append(chunk)
      for (const { end, length: masked } of found) held.mask(chunk.length - end, masked)
      return held.take(held.length - length)
    },
    end: () => held.take(held.length),
  }
}

const MIN_CAPACITY = 64

/** Queue of bytes. Both ends move without a copy of all bytes, whose number may be that of a long credential. */
class HeldBytes {
  #bytes = Buffer.alloc(0)
  #from = 0
  #to = 0

  get length(): number {
    return this.#to - this.#from
  }

  append(chunk: Buffer): void {
    if (this.#to + chunk.length > this.#bytes.length) this.#move(this.length + chunk.length)
    this.#to += chunk.copy(this.#bytes, this.#to)
  }

  /** Masks `length` bytes that are followed by `after` bytes. */
  mask(after: number, length: number): void {
    const end = this.#to - after
    this.#bytes.fill(STAR, end - length, end)
  }

  /** Removes the first `length` bytes and returns a copy of them. */
  take(length: number): Buffer {
    const taken = Buffer.from(this.#bytes.subarray(this.#from, this.#from + length))
    this.#from += length
    return taken
  }

  /** Moves the bytes to a buffer with room for twice as many as `length`, so that moves are rare. */
  #move(length: number): void {
    const bytes = Buffer.alloc(Math.max(MIN_CAPACITY, 2 * length))
    this.#to = this.#bytes.copy(bytes, 0, this.#from, this.#to)
    this.#from = 0
    this.#bytes = bytes
  }
}
