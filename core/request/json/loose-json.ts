/**
 * Reports whether a lenient parser could read an object or a list from a text that is not JSON: NaN and Infinity,
 * trailing commas, comments, other or missing quotes, other numbers, control characters in strings, any depth. Widely
 * used libraries accept each of these. Also returns true for a text that exceeds the length limit.
 */
export function isLooseJson(text: string): boolean {
  if (text.length > MAX_LOOSE_CHARS) return true
  const strict: string[] = []
  for (let at = 0; at < text.length; ) {
    const end = tokenEnd(text, at)
    if (end === -1) return false
    if (!isSkipped(text, at)) addToken(strict, text.charAt(at))
    at = end
  }
  return (strict[0] === '{' || strict[0] === '[') && isJson(strict.join(''))
}

/**
 * Maximum length in characters of a text that is checked for JSON in a loose syntax. The limit keeps the check from
 * blocking the event loop for more than some milliseconds. Messages that clients make invalid by mistake are shorter.
 */
export const MAX_LOOSE_CHARS = 32 * 1024
const BLANK = /\s/
const STRUCTURE = '{}[]:,'
const WORD = /[^\s{}[\]:,"'#]+/y
const DOUBLE = /"[^"\\]*(?:\\[\s\S][^"\\]*)*"/y
const SINGLE = /'[^'\\]*(?:\\[\s\S][^'\\]*)*'/y

/** Returns the offset after the token at `at`; -1 for an unterminated token. */
function tokenEnd(text: string, at: number): number {
  const first = text.charAt(at)
  if (STRUCTURE.includes(first) || BLANK.test(first)) return at + 1
  if (first === '"' || first === "'") return matchEnd(first === '"' ? DOUBLE : SINGLE, text, at)
  if (first === '#' || text.startsWith('//', at)) return lineEnd(text, at)
  if (text.startsWith('/*', at)) return behind(text.indexOf('*/', at + 2))
  return matchEnd(WORD, text, at)
}

function matchEnd(token: RegExp, text: string, at: number): number {
  token.lastIndex = at
  return token.test(text) ? token.lastIndex : -1
}

function lineEnd(text: string, at: number): number {
  const end = text.indexOf('\n', at)
  return end === -1 ? text.length : end + 1
}

function behind(end: number): number {
  return end === -1 ? -1 : end + 2
}

function isSkipped(text: string, at: number): boolean {
  const first = text.charAt(at)
  return BLANK.test(first) || first === '#' || text.startsWith('//', at) || text.startsWith('/*', at)
}

/** Appends the token's equivalent in strict JSON. */
function addToken(strict: string[], first: string): void {
  const last = strict.at(-1)
  if ((first === '}' || first === ']') && last === ',' && hasMember(strict)) strict.pop()
  if (first === ':' && last === WORDS_VALUE) strict[strict.length - 1] = TEXT
  if (STRUCTURE.includes(first)) strict.push(first)
  else strict.push(first === '"' || first === "'" ? TEXT : WORDS_VALUE)
}

/** Reports whether a value precedes the comma. No common lenient parser accepts `[,]` or `{,}`. */
function hasMember(strict: readonly string[]): boolean {
  return strict.at(-2) !== '{' && strict.at(-2) !== '['
}

const TEXT = '""'
const WORDS_VALUE = 'null'

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch (error) {
    return !(error instanceof SyntaxError)
  }
}
