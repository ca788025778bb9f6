/**
 * Patterns over action names: a whole name (`codehost.pr.merge`), or a prefix followed by one trailing `*`
 * (`codehost.pr.*`, `mcp.tools.create_*`, `*`).
 *
 * Three rules make a pattern err on the safe side:
 * - Fold: what allows compares exactly, what tightens (deny, require_approval) ignores case, so that
 *   `mcp.tools.Delete_Repo` cannot slip past a deny on `mcp.tools.delete_repo`.
 * - Unmapped: `<connector>.unmapped.<method>` is allowed only by its exact name, `<connector>.unmapped.*` or
 *   `<connector>.*`, never by `*` or a partial prefix. What tightens matches it by text like anything else.
 * - Unidentified: `mcp.rpc.unknown`, a message that could not be read, is allowed only by its exact name.
 */
export type Pattern = {
  readonly text: string
  /** The text without its `*`. */
  readonly prefix: string
  readonly isExact: boolean
}

/** Which of the two comparisons applies. */
export type PatternUse = 'allow' | 'tighten'

export function parsePattern(text: string): Pattern {
  const isExact = !text.endsWith('*')
  return { text, prefix: isExact ? text : text.slice(0, -1), isExact }
}

export function matchesPattern(pattern: Pattern, type: string, use: PatternUse): boolean {
  if (use === 'tighten') return covers(fold(pattern.prefix), pattern.isExact, fold(type))
  if (!covers(pattern.prefix, pattern.isExact, type)) return false
  return pattern.isExact || wildcardMayAllow(pattern.prefix, type)
}

/** True when the pattern may tighten a name that begins with the prefix. */
export function mayMatchBelow({ prefix, isExact }: Pattern, below: string): boolean {
  const own = fold(prefix)
  return own.startsWith(fold(below)) || (!isExact && fold(below).startsWith(own))
}

/**
 * More specific first, a total order: exact before wildcard, longer prefix before shorter, then by text so that
 * equal specificity still has one order.
 */
export function comparePatterns(a: Pattern, b: Pattern): number {
  if (a.isExact !== b.isExact) return a.isExact ? -1 : 1
  if (a.prefix.length !== b.prefix.length) return b.prefix.length - a.prefix.length
  if (a.text === b.text) return 0
  return a.text < b.text ? -1 : 1
}

/** Action names that say nothing about what the request does: no wildcard allows them. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['mcp.rpc.unknown'])

/** True when a wildcard with this prefix may allow the type that it covers. */
export function wildcardMayAllow(prefix: string, type: string): boolean {
  return !UNIDENTIFIED.has(type) && allowsUnmapped(prefix, type)
}

/** True unless the type is an unmapped one and the prefix is neither its connector's nor that of its unmapped types. */
function allowsUnmapped(prefix: string, type: string): boolean {
  const connector = unmappedConnector(type)
  return connector === null || prefix === `${connector}.` || prefix === `${connector}.unmapped.`
}

/** `codehost` for `codehost.unmapped.post`, null for every other name. */
export function unmappedConnector(type: string): string | null {
  const dot = type.indexOf('.')
  if (dot <= 0 || !type.startsWith('.unmapped.', dot)) return null
  return type.slice(0, dot)
}

export function fold(text: string): string {
  return text.toLowerCase()
}

function covers(prefix: string, isExact: boolean, type: string): boolean {
  return isExact ? prefix === type : type.startsWith(prefix)
}
