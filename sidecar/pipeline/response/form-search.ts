/** End of an occurrence and its length, in characters. The end is an index in the text of the current call. */
export type Occurrence = { readonly end: number; readonly length: number }

/**
 * Searches a stream of text for one form of the credential (algorithm of Knuth, Morris and Pratt). The number of
 * compared characters is proportional to the length of the stream, however small its chunks are and however many
 * characters of the form the stream repeats.
 */
export class FormSearch {
  readonly #form: string
  /**
   * By number of matched characters less one: length of the longest proper prefix of these characters that is also
   * their suffix. Grows with the longest match, because most streams match few characters.
   */
  readonly #borders: number[] = [0]
  #matched = 0

  constructor(form: string) {
    this.#form = form
  }

  /** Number of characters at the end of the stream that may be the beginning of an occurrence. */
  get matched(): number {
    return this.#matched
  }

  /** Returns the occurrences that end in the next chunk. Occurrences do not overlap. `text` is in lower case. */
  push(text: string): readonly Occurrence[] {
    const found: Occurrence[] = []
    let at = 0
    // An occurrence that begins in an earlier chunk.
    while (this.#matched > at && at < text.length)
      if (this.#step(text.charCodeAt(at++))) found.push(this.#at(at))
    const from = at - this.#matched
    if (at < text.length && text.length - from >= this.#form.length) this.#pushWhole(text, from, found)
    else while (at < text.length) this.#step(text.charCodeAt(at++))
    return found
  }

  /** Finds occurrences that are within the chunk by a native search, which is faster than a comparison in steps. */
  #pushWhole(text: string, begin: number, found: Occurrence[]): void {
    let from = begin
    for (let at = text.indexOf(this.#form, from); at >= 0; at = text.indexOf(this.#form, from)) {
      from = at + this.#form.length
      found.push(this.#at(from))
    }
    this.#matched = 0
    for (let at = Math.max(from, text.length - this.#form.length + 1); at < text.length; at++)
      this.#step(text.charCodeAt(at))
  }

  #at(end: number): Occurrence {
    return { end, length: this.#form.length }
  }

  /** Reads one character. Returns true at the end of an occurrence. */
  #step(code: number): boolean {
    while (this.#matched > 0 && this.#form.charCodeAt(this.#matched) !== code)
      this.#matched = this.#borderOf(this.#matched)
    if (this.#form.charCodeAt(this.#matched) !== code) return false
    this.#matched++
    if (this.#matched < this.#form.length) return false
    this.#matched = 0
    return true
  }

  #borderOf(length: number): number {
    for (let known = this.#borders.length; known < length; known++) {
      let border = this.#borders[known - 1] ?? 0
      const code = this.#form.charCodeAt(known)
      while (border > 0 && this.#form.charCodeAt(border) !== code) border = this.#borders[border - 1] ?? 0
      this.#borders.push(this.#form.charCodeAt(border) === code ? border + 1 : 0)
    }
    return this.#borders[length - 1] ?? 0
  }
}
