/**
 * Shortens a long value to the beginning of its text (of its JSON if it is not text) and its length. A value of up to
 * `most` characters stays unchanged.
 */
export function excerpt(value: unknown, most: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= most) return value
  return `${beginning(text, most)}… (${text.length} characters)`
}

/** Returns the first characters without a split surrogate pair. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}
