import type { Parameters } from '../../action/action.ts'
import { isRefusal, type Refusal, refusal } from '../../request/canonical.ts'
import { decodedFully } from '../../request/percent.ts'
import { type CompiledRow, type Leaf, type Node, partsOf, type RowTrie } from './row-trie.ts'
import type { TemplatePart } from './template.ts'

export type RowMatch = {
  readonly kind: 'match'
  readonly rows: readonly CompiledRow[]
  /** Values of the template's parameters, decoded once; numeric parameters are numbers. */
  readonly parameters: Parameters
}

/**
 * Finds the rows of a path and method. A literal segment beats a parameter, and a parameter beats a tail. The path
 * alone selects the template, so that a known path with another method is not read as the value of a parameter. HEAD is
 * treated as GET. Null if no row matches; a refusal if the value of a parameter is ambiguous. The cost depends on the
 * number of segments, not of rows.
 */
export function lookUp(trie: RowTrie, method: string, path: PathSegments): RowMatch | Refusal | null {
  const leaf = descend(trie.root, path.segments, 0, 'literals')
  if (leaf === null) return null
  const rows = rowsOf(leaf, method)
  const first = rows?.[0]
  if (rows === undefined || first === undefined) return null
  const parameters = bind(partsOf(trie, first, path.segments), path)
  if (parameters === null || isRefusal(parameters)) return parameters
  return { kind: 'match', rows, parameters: parameters.values }
}

/**
 * Returns the write rows of the path, regardless of their method: for a method without a row, a server may execute any
 * of them. `every` includes the rows of all readings of the path: a server may read `/users/me` as `/users/{id}`.
 * Returns a refusal if the value of a parameter is ambiguous.
 */
export function lookUpWrites(
  trie: RowTrie,
  path: PathSegments,
  readings: 'first' | 'every' = 'first',
): readonly RowMatch[] | Refusal {
  const leaf = descend(trie.root, path.segments, 0, 'literals')
  const leaves =
    readings === 'every' ? [...leavesOf(trie.root, path.segments, 0)] : leaf === null ? [] : [leaf]
  const rows = leaves.flatMap(writesOf)
  const matches: RowMatch[] = []
  for (const row of new Set(rows)) {
    const parameters = bind(partsOf(trie, row, path.segments), path)
    if (parameters === null) continue
    if (isRefusal(parameters)) return parameters
    matches.push({ kind: 'match', rows: [row], parameters: parameters.values })
  }
  return matches
}

export function writesOf(leaf: Leaf): readonly CompiledRow[] {
  return Object.values(leaf).flatMap((rows = []) => rows.filter(({ row }) => row.effect !== 'read'))
}

export function rowsOf(leaf: Leaf, method: string): CompiledRow[] | undefined {
  return leaf[method] ?? leaf['*'] ?? (method === 'HEAD' ? leaf['GET'] : undefined)
}

/** Segments of a path without the connector's prefix: as sent, and decoded once. */
export type PathSegments = { readonly rawSegments: readonly string[]; readonly segments: readonly string[] }

/**
 * Finds the rows of a path. `by: literals` compares segments exactly. `by: folded` ignores case; the segments must then
 * be in lower case.
 */
export function descend(
  node: Node,
  segments: readonly string[],
  at: number,
  by: 'literals' | 'folded',
): Leaf | null {
  if (at === segments.length) return node.leaf
  const segment = segments[at] ?? ''
  const literal = node[by]?.get(segment)
  const exact = literal === undefined ? null : descend(literal, segments, at + 1, by)
  if (exact !== null) return exact
  const byParameter =
    node.parameter === null || segment === '' ? null : descend(node.parameter, segments, at + 1, by)
  return byParameter ?? node.tail
}

/** Yields the rows of a path for every way to match its segments (literal, parameter, tail), in order of precedence. */
function* leavesOf(node: Node, segments: readonly string[], at: number): Generator<Leaf> {
  if (at === segments.length) {
    if (node.leaf !== null) yield node.leaf
    return
  }
  const segment = segments[at] ?? ''
  const literal = node.literals?.get(segment)
  if (literal !== undefined) yield* leavesOf(literal, segments, at + 1)
  if (node.parameter !== null && segment !== '') yield* leavesOf(node.parameter, segments, at + 1)
  if (node.tail !== null) yield node.tail
}

type Bound = { readonly values: Readonly<Record<string, string | number>> }

function bind(parts: readonly TemplatePart[], path: PathSegments): Bound | Refusal | null {
  const values: Record<string, string | number> = {}
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]
    if (part === undefined || part.kind === 'literal') continue
    const value = part.kind === 'tail' ? readTail(path.segments.slice(i)) : readParameter(part, i, path)
    if (value === null || isRefusal(value)) return value
    values[part.name] = value
  }
  return { values }
}

type ParameterPart = Extract<TemplatePart, { kind: 'parameter' }>

function readParameter(
  part: ParameterPart,
  at: number,
  path: PathSegments,
): string | number | Refusal | null {
  const text = path.segments[at] ?? ''
  if (path.rawSegments[at]?.includes(';')) return pathParameter()
  if (part.isNumber) return readNumber(part.name, text)
  if (!text.includes('/')) return text
  return part.mayHoldSlash ? readTail([text]) : encodedSlash(part.name)
}

/**
 * Returns the value of a numeric path parameter. Returns null for a text that is not a number, such as `export`,
 * because another template may describe its path. Refuses a value with an encoded slash, and a value that only lenient
 * readers accept as a number (`01`, `+1`, `1abc`).
 */
function readNumber(name: string, text: string): number | Refusal | null {
  if (/^(0|[1-9][0-9]{0,14})$/.test(text)) return Number(text)
  if (text.includes('/')) return encodedSlash(name)
  return /^[\s+-]*[0-9]/.test(decodedFully(text))
    ? refusal('ambiguous_request', `{${name}} must be a plain decimal number, not "${text.slice(0, 40)}"`)
    : null
}

/**
 * Returns the decoded value of a `{name+}` or `{name/}` parameter, which the upstream reads as a path. Refuses empty
 * and dot segments.
 */
function readTail(segments: readonly string[]): string | Refusal {
  const value = segments.join('/')
  if (value.split('/').some((part) => part === '' || part === '.' || part === '..')) {
    return refusal(
      'ambiguous_request',
      'the last path parameter has an empty or dot segment; send the resolved path',
    )
  }
  return value
}

function encodedSlash(name: string): Refusal {
  return refusal('ambiguous_request', `{${name}} must be one path segment, without an encoded slash (%2F)`)
}

export function pathParameter(): Refusal {
  return refusal(
    'ambiguous_request',
    'a path segment contains ";", and some servers cut the segment there; send ";" as %3B',
  )
}
