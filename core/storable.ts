const MAX_DEPTH = 64

/** Path to the rejected part of a value, outermost key or index first, and the reason of the rejection. */
export type Unstorable = { readonly path: ReadonlyArray<string | number>; readonly why: string }

/**
 * Returns the first part of a value that cannot be stored; null if there is none. PostgreSQL rejects NUL, JSON has no
 * infinite numbers, and a lone surrogate is invalid Unicode. Nesting deeper than `MAX_DEPTH`, which no schema needs, is
 * rejected as well. The input is checked once, because later stages would fail on the value or change it.
 */
export function unstorableIn(value: unknown): Unstorable | null {
  const found = find(value, 0)
  return found && { path: found.path.reverse(), why: found.why }
}

/**
 * Rejected part of a value. The recursion collects `path` while it returns, deepest key first, because most values
 * have no rejected part.
 */
type Found = { readonly path: Array<string | number>; readonly why: string }

const BAD_TEXT = 'the text has a NUL character or an incomplete Unicode character; remove it'
const BAD_NUMBER = 'the number is too large to be stored'
const TOO_DEEP = 'the value is nested too deeply'

function find(value: unknown, depth: number): Found | null {
  if (depth > MAX_DEPTH) return { path: [], why: TOO_DEEP }
  if (typeof value === 'string') return isStorable(value) ? null : { path: [], why: BAD_TEXT }
  if (typeof value === 'number') return Number.isFinite(value) ? null : { path: [], why: BAD_NUMBER }
  return typeof value === 'object' && value !== null ? findInside(value, depth) : null
}

function findInside(value: object, depth: number): Found | null {
  const stepOf = Array.isArray(value) ? Number : String
  for (const [key, item] of Object.entries(value)) {
    // The path does not contain the invalid key, because the error message must be storable as well.
    if (!isStorable(key)) return { path: [], why: BAD_TEXT }
    const found = find(item, depth + 1)
    if (found === null) continue
    // For excessive nesting, the error message contains only the outermost keys.
    if (depth < 3 || found.why !== TOO_DEEP) found.path.push(stepOf(key))
    return found
  }
  return null
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Text that replaces a number in the storable form. */
const HIDDEN_NUMBER = '(a number that is too large to be stored)'
/** Text that replaces a value in the storable form. */
const HIDDEN_VALUE = '(nested deeper)'
/** Name that replaces `__proto__` in the storable form. */
const RENAMED_KEY = '(__proto__)'

/**
 * Reports whether the storable forms of two different values or names may both be this text, because the text contains
 * a replacement.
 */
export function isAmbiguous(text: string): boolean {
  return /[\u2400\uFFFD]/.test(text) || [HIDDEN_NUMBER, HIDDEN_VALUE, RENAMED_KEY].includes(text)
}

/** Maximum depth of a displayed value: more than a user reads, with room for the structure of an approval card. */
const MAX_SHOWN_DEPTH = 40

/**
 * Returns a storable and displayable form of a value from an agent. Visible replacements stand for everything that
 * `unstorableIn` rejects, for values nested deeper than `MAX_SHOWN_DEPTH`, and for keys named `__proto__`. All other
 * values stay unchanged.
 */
export function storableForm(
  fields: Readonly<Record<string, unknown>>,
  depth = 0,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [storableKey(key), storableValue(value, depth + 1)]),
  )
}

function storableValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return storableText(value)
  if (typeof value === 'number') return Number.isFinite(value) ? value : HIDDEN_NUMBER
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_SHOWN_DEPTH) return HIDDEN_VALUE
  return Array.isArray(value)
    ? value.map((one) => storableValue(one, depth + 1))
    : storableForm(value as Readonly<Record<string, unknown>>, depth)
}

/**
 * Returns the key in a storable form. A member named `__proto__` is renamed, because JSON parsers refuse or lose it.
 */
function storableKey(key: string): string {
  return key === '__proto__' ? RENAMED_KEY : storableText(key)
}

/** Replaces NUL with its symbol, and a lone surrogate with the replacement character. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400')
}
