/**
 * Pattern over action names: a whole name (`codehost.pr.merge`), or a prefix followed by one trailing `*`
 * (`codehost.pr.*`, `mcp.tools.create_*`, `*`).
 *
 * Three rules make patterns fail safe:
 * - Case: allow patterns match exactly. Deny and require_approval patterns ignore case, so that `mcp.tools.Delete_Repo`
 *   does not bypass a deny on `mcp.tools.delete_repo`.
 * - Unmapped types: only the exact name, `<connector>.unmapped.*` or `<connector>.*` allows
 *   `<connector>.unmapped.<method>`; `*` and partial prefixes do not. Deny and require_approval patterns match these
 *   names like any other name.
 * - Unidentified messages: only the exact name allows `mcp.rpc.unknown`, the name of an unreadable message.
 */
export type Pattern = {
  readonly text: string
  /** Text of the pattern without its trailing `*`. */
  readonly prefix: string
  readonly isExact: boolean
}

/** Selects the exact comparison (`allow`) or the case-insensitive one (`tighten`). */
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

/** Reports whether a deny or require_approval with this pattern may match an action name that begins with `below`. */
export function mayMatchBelow({ prefix, isExact }: Pattern, below: string): boolean {
  const own = fold(prefix)
  return own.startsWith(fold(below)) || (!isExact && fold(below).startsWith(own))
}

/** Action names of requests that the gateway could not identify. No wildcard allows them. */
const UNIDENTIFIED: ReadonlySet<string> = new Set(['mcp.rpc.unknown'])

/**
 * Reports whether an allow pattern with a wildcard (`<prefix>*`) allows the action name `type`. The caller must have
 * checked that `type` begins with `prefix`. The result is false for the names of unidentified messages, and for
 * unmapped names unless `prefix` is one of those that the rule in `Pattern` admits.
 */
export function wildcardMayAllow(prefix: string, type: string): boolean {
  return !UNIDENTIFIED.has(type) && allowsUnmapped(prefix, type)
}

/**
 * Reports whether an allow pattern `<prefix>*` allows the action name `type` under the rule for unmapped names (see
 * `Pattern`): for `<connector>.unmapped.<method>`, `prefix` must be `<connector>.` or `<connector>.unmapped.`.
 */
function allowsUnmapped(prefix: string, type: string): boolean {
  const connector = unmappedConnector(type)
  return connector === null || prefix === `${connector}.` || prefix === `${connector}.unmapped.`
}

/** Returns `codehost` for `codehost.unmapped.post`, null for every other name. */
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
