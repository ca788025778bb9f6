/**
 * A value that is too long to be shown whole, by the beginning of its text (of its JSON when it is no text) and its length.
 * Anything with up to `most` characters stays as it is.
 */
export function excerpt(value: unknown, most: number): unknown {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (text.length <= most) return value
  return `${beginning(text, most)}… (${text.length} characters)`
}

/** The first characters. One that would be cut in two is none any more. */
export function beginning(text: string, length: number): string {
  return text.slice(0, length).toWellFormed()
}
