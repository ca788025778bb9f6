/**
 * Returns the value unchanged if its text (its JSON, unless it is a string) has at most `most` characters. Otherwise
 * returns the beginning of the text and its length.
 */
export function excerpt(value: unknown, most: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= most) return value
  return `${beginning(text, most)}… (${text.length} characters)`
}

/**
 * Returns the first `length` UTF-16 code units. A lone surrogate, such as half of a pair at the cut, becomes U+FFFD.
 */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}
