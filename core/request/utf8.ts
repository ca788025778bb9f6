import { wordsOf } from './words.ts'

/**
 * Checks a text in slices. `accepts` reports whether the next slice continues valid UTF-8. If `isMore` is true, the
 * last character may be incomplete.
 */
export class Utf8Check {
  /** Null as long as all slices were ASCII. ASCII needs no decoder and no string. */
  #decoder: InstanceType<typeof TextDecoder> | null = null

  accepts(slice: Uint8Array, isMore: boolean): boolean {
    if (this.#decoder === null && isAscii(slice)) return true
    this.#decoder ??= new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
    try {
      this.#decoder.decode(slice, { stream: isMore })
      return true
    } catch {
      return false
    }
  }
}

/** Reports whether a whole text is valid UTF-8. */
export function isUtf8(bytes: Uint8Array): boolean {
  return isAscii(bytes) || new Utf8Check().accepts(bytes, false)
}

function isAscii(bytes: Uint8Array): boolean {
  const { start, end, words } = wordsOf(bytes, 0, bytes.length)
  let bits = 0
  for (let at = 0; at < start; at++) bits |= bytes[at] ?? 0
  for (let at = end; at < bytes.length; at++) bits |= bytes[at] ?? 0
  let wordBits = 0
  for (let at = 0; at < words.length; at += 4) {
    wordBits |= (words[at] ?? 0) | (words[at + 1] ?? 0) | (words[at + 2] ?? 0) | (words[at + 3] ?? 0)
  }
  return bits < 0x80 && (wordBits & 0x80808080) === 0
}
