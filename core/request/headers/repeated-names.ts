import { fold } from '../../action/pattern.ts'

export type Pairs = ReadonlyArray<readonly [name: string, value: string]>

/** Returns the parameter name folded and trimmed, because some servers compare names in that form. */
export function looseName(name: string): string {
  return fold(name.trim())
}

/** Returns `items` for `items[0][price]` and `items[]`. A name without brackets stays unchanged. */
export function plainName(name: string): string {
  const bracket = name.indexOf('[')
  return bracket <= 0 ? name : name.slice(0, bracket)
}

/** Reports whether one of the pairs has this parameter name in any spelling: `state`, `State`, `state[]`. */
export function isNamed(name: string, pairs: Pairs): boolean {
  return pairs.some(([own]) => looseName(plainName(looseName(own))) === looseName(name))
}

/**
 * Pairs of one parameter in all its spellings. `isList` is true if a name has brackets, which indicate a list or an
 * object.
 */
type Group = { readonly names: Set<string>; readonly values: string[]; isList: boolean }

/**
 * Returns query parameters as facts. A parameter that occurs several times, in any spelling, becomes the list of its
 * values in order, because servers use the first value, the last, or all of them. `items[]` and `items[0]` count as
 * spellings of `items`. A name with leading blanks counts as the trimmed name, because some servers trim.
 */
export function queryFacts(query: Pairs): Readonly<Record<string, string | readonly string[]>> {
  const groups = new Map<string, Group>()
  for (const [name, value] of query) {
    const plain = plainName(name)
    add(groups, plain, { value, isList: plain !== name })
    if (plain !== name) add(groups, name, { value, isList: false })
  }
  return Object.fromEntries([...groups.values()].flatMap(factsOf))
}

/**
 * Returns query parameters as facts with exact names. A repeated name becomes a list. With `readsBrackets` (the API
 * supports brackets), `items[]` also yields a list `items`.
 */
export function plainQueryFacts(
  query: Pairs,
  readsBrackets: boolean,
): Readonly<Record<string, string | readonly string[]>> {
  const values = new Map<string, string[]>()
  const lists = new Set<string>()
  for (const [name, value] of query) {
    const plain = readsBrackets ? plainName(name) : name
    if (plain !== name) lists.add(plain)
    for (const each of new Set([name, plain])) values.set(each, [...(values.get(each) ?? []), value])
  }
  return Object.fromEntries(
    [...values].map(([name, [first = '', ...more]]) => [
      name,
      more.length === 0 && !lists.has(name) ? first : [first, ...more],
    ]),
  )
}

function add(
  groups: Map<string, Group>,
  name: string,
  { value, isList }: { value: string; isList: boolean },
) {
  const key = looseName(name)
  const group = groups.get(key) ?? { names: new Set(), values: [], isList: false }
  groups.set(key, group)
  const trimmed = name.trimStart()
  group.names.add(name).add(trimmed)
  group.values.push(value)
  group.isList ||= isList || trimmed !== name
}

function factsOf({ names, values, isList }: Group): [string, string | readonly string[]][] {
  const [first = ''] = values
  const value = isList || values.length > 1 ? values : first
  return [...names].map((name) => [name, value])
}

/**
 * Returns the first of these parameter names that occurs more than once; null if none does. `items[]` may repeat,
 * because its name indicates a list. `items` together with `items[0]` counts as a repetition.
 */
export function repeatedName(names: readonly string[], pairs: Pairs): string | null {
  if (pairs.length < 2) return null
  const wanted = new Map(names.map((name) => [looseName(name), name]))
  const seen = new Map<string, Set<string>>()
  for (const [name] of pairs) {
    const own = looseName(name)
    const plain = looseName(plainName(own))
    const found = wanted.get(plain)
    if (found === undefined) continue
    const before = seen.get(plain) ?? new Set()
    seen.set(plain, before)
    if (isRepeated(own, plain, before)) return found
    before.add(own)
  }
  return null
}

function isRepeated(own: string, plain: string, before: ReadonlySet<string>): boolean {
  if (own === plain) return before.size > 0
  return before.has(plain) || (before.has(own) && !own.endsWith('[]'))
}
