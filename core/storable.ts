const MAX_DEPTH = 64

/** Path to the rejected part of a value, outermost key first, and the reason. */
export type Unstorable = { readonly path: readonly string[]; readonly why: string }

/**
 * Returns the first part of a value that cannot be stored: PostgreSQL rejects NUL, JSON has no infinite numbers, and a
 * lone surrogate is invalid Unicode. Also rejects nesting beyond any schema. Checked once at the input, because later
 * stages would fail or change the value. Null if there is none.
 */
export function unstorableIn(value: unknown): Unstorable | null {
  const found = find(value, 0)
  return found && { path: found.path.reverse(), why: found.why }
}

/**
 * Rejected part. `path` is collected while the recursion returns, deepest key first, because almost always there is
 * none.
 */
type Found = { readonly path: string[]; readonly why: string }

const BAD_TEXT = 'has a NUL or an incomplete Unicode character'
const BAD_NUMBER = 'is a number beyond what can be stored'
const TOO_DEEP = 'is nested too deeply'

function find(value: unknown, depth: number): Found | null {
  if (depth > MAX_DEPTH) return { path: [], why: TOO_DEEP }
  if (typeof value === 'string') return isStorable(value) ? null : { path: [], why: BAD_TEXT }
  if (typeof value === 'number') return Number.isFinite(value) ? null : { path: [], why: BAD_NUMBER }
  return typeof value === 'object' && value !== null ? findInside(value, depth) : null
}

function findInside(value: object, depth: number): Found | null {
  for (const [key, item] of Object.entries(value)) {
    // The path omits an invalid key, because the message must be storable as well.
    if (!isStorable(key)) return { path: [], why: BAD_TEXT }
    const found = find(item, depth + 1)
    if (found === null) continue
    // For excessive nesting, the message contains the first keys only.
    if (depth < 3 || found.why !== TOO_DEEP) found.path.push(key)
    return found
  }
  return null
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Maximum depth of a displayed value. More than a user reads, with room for the structure of a card. */
const MAX_SHOWN_DEPTH = 40

/**
 * Returns a storable and displayable form of an agent's value: visible replacements for everything that `unstorableIn`
 * rejects. Other values stay unchanged.
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
  if (typeof value === 'number')
    return Number.isFinite(value) ? value : '(a number beyond what can be stored)'
  if (typeof value !== 'object' || value === null) return value
  if (depth >= MAX_SHOWN_DEPTH) return '(nested deeper)'
  return Array.isArray(value)
    ? value.map((one) => storableValue(one, depth + 1))
    : storableForm(value as Readonly<Record<string, unknown>>, depth)
}

/** Returns the key in a storable form. JSON readers refuse or lose a member named `__proto__`. */
function storableKey(key: string): string {
  return key === '__proto__' ? '(__proto__)' : storableText(key)
}

/** Replaces NUL with its symbol, and a lone surrogate with the replacement character. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400')
}
