/** DER element: its tag, and the range of its content in the bytes. */
export type Element = { readonly tag: number; readonly start: number; readonly end: number }

/**
 * Reads the element at the offset `at`; null if the element exceeds the bytes. Supports lengths of up to three bytes.
 */
export function elementAt(bytes: Uint8Array, at: number): Element | null {
  const tag = bytes[at]
  const first = bytes[at + 1]
  if (tag === undefined || first === undefined || first === 0x80 || first > 0x83) return null
  const start = at + 2 + (first < 0x80 ? 0 : first & 0x7f)
  const length =
    first < 0x80 ? first : bytes.subarray(at + 2, start).reduce((sum, byte) => sum * 256 + byte, 0)
  return start + length <= bytes.length ? { tag, start, end: start + length } : null
}

/** Returns the elements inside of an element, up to the first malformed one. */
export function childrenOf(bytes: Uint8Array, { start, end }: Element): readonly Element[] {
  const found: Element[] = []
  for (let at = start; at < end; ) {
    const child = elementAt(bytes, at)
    if (child === null || child.end > end) break
    found.push(child)
    at = child.end
  }
  return found
}
