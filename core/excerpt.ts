/**
 * Returns a value of up to `most` characters unchanged. Of a longer value, returns the beginning of its text (of its
 * JSON if the value is not text) and the length.
 */
export function excerpt(value: unknown, most: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= most) return value
  return `${beginning(text, most)}… (${text.length} characters)`
}

/** Returns the first `length` UTF-16 code units. A surrogate that the cut separates from its pair is replaced. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}
