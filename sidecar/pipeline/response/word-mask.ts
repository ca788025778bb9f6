/** Options of a word search. `isWhole` is false when more text may follow. */
export type WordSearch = { readonly isWhole: boolean }

/**
 * Replaces whole words by `*` of the same length and returns the text from index `from` on. The text before `from`
 * serves only as context.
 */
export type WordMask = (text: string, from: number, search: WordSearch) => string

/** Number of characters before a word that determine whether the word begins there. */
export const WORD_CONTEXT = 6

const WORD = '[\\w\\x80-\\xff-]'
/**
 * Expression for the beginning of a word, which is not inside a longer word. An escape sequence (percent, JSON or
 * string) before the word ends the previous word.
 */
const BEGIN = `(?<!${WORD})|(?<=%[\\da-f]{2}|\\\\u[\\da-f]{4}|\\\\[bfnrt])`

/**
 * Creates the mask that replaces each character of `words` in a text with `*`, regardless of case. The words have one
 * character for each byte (`latin1`), are not empty, and are sorted by length, longest first.
 */
export function createWordMask(words: readonly string[]): WordMask {
  const whole = expression(words, `(?!${WORD})`)
  const open = expression(words, `(?!${WORD}|$)`)
  return (text, from, { isWhole }) => {
    const masked = text.replace(isWhole ? whole : open, (word, at: number) =>
      at < from ? word : '*'.repeat(word.length),
    )
    return masked.slice(from)
  }
}

function expression(words: readonly string[], end: string): RegExp {
  const isEdge = new RegExp(WORD)
  const alternatives = words.map((word) => {
    const begin = isEdge.test(word.charAt(0)) ? `(?:${BEGIN})` : ''
    return `${begin}${literal(word)}${isEdge.test(word.slice(-1)) ? end : ''}`
  })
  return new RegExp(alternatives.join('|'), 'gi')
}

function literal(word: string): string {
  return [...word].map((char) => `\\x${char.charCodeAt(0).toString(16).padStart(2, '0')}`).join('')
}

const PROTOCOL_FIELDS = new Set([
  ...['accept-ranges', 'age', 'allow', 'cache-control', 'connection', 'content-encoding', 'content-length'],
  ...['content-range', 'content-type', 'date', 'expires', 'keep-alive', 'last-modified', 'retry-after'],
  ...['sec-websocket-accept', 'sec-websocket-version', 'trailer', 'transfer-encoding', 'upgrade', 'vary'],
])

/**
 * Returns true for fields whose values HTTP defines. An upstream echoes no credential in these fields, and a short
 * credential may equal a defined value by accident.
 */
export function isProtocolField(name: string): boolean {
  return PROTOCOL_FIELDS.has(name.toLowerCase())
}
