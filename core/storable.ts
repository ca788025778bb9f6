const MAX_DEPTH = 64

/** Where a value has something that is refused, outermost key first, and why. */
export type Unstorable = { readonly path: readonly string[]; readonly why: string }

/**
 * What PostgreSQL cannot store (NUL), what is no Unicode (half a surrogate pair) or no JSON (a number that has become
 * infinite): found once where a value comes in, instead of failing deep inside or being changed on the way. So is nesting
 * that no schema of ours needs. Null when there is nothing of it.
 */
export function unstorableIn(value: unknown): Unstorable | null {
  const found = find(value, 0)
  return found && { path: found.path.reverse(), why: found.why }
}

/** The path is gathered on the way back, deepest key first: almost always there is nothing to find. */
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
    // The key itself stays out of the path: what is said about it must be storable.
    if (!isStorable(key)) return { path: [], why: BAD_TEXT }
    const found = find(item, depth + 1)
    if (found === null) continue
    // Of what is nested too deeply the first keys are enough.
    if (depth < 3 || found.why !== TOO_DEEP) found.path.push(key)
    return found
  }
  return null
}

function isStorable(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0')
}

/** Deeper than people look, and with room for what a card is put into. */
const MAX_SHOWN_DEPTH = 40

/**
 * What an agent sent, in a form that can be stored and shown to a person: what `unstorableIn` would refuse is replaced by
 * something that is seen. Other values stay as they are.
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

/** Readers of JSON refuse or lose a member of that name. */
function storableKey(key: string): string {
  return key === '__proto__' ? '(__proto__)' : storableText(key)
}

/** NUL as the picture of it, half a character as the replacement character. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u2400')
}
