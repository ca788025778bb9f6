import type { Parameters } from '../action/action.ts'
import { isRefusal, type Refusal, refusal } from '../request/canonical.ts'
import { decodedFully } from '../request/percent.ts'
import type { Row } from './connector.ts'
import { compileTemplate, type TemplatePart } from './template.ts'

/** A row with its template compiled; an alias has the parts of another one. */
export type CompiledRow = {
  readonly row: Row
  readonly parts: readonly TemplatePart[]
  readonly isAlias?: boolean
}

/** All rows of one connector and surface, as a tree over path segments. */
export type RowTrie = { readonly root: Node }

/** Most nodes are the end of one path: what they do not have costs nothing. */
type Node = {
  literals: Map<string, Node> | null
  /** The same children by lower-case text, only to recognise a path that is misspelt in case. */
  folded: Map<string, Node> | null
  parameter: Node | null
  tail: Leaf | null
  leaf: Leaf | null
}
/** Rows of one path by method. Rows of one method are candidates of one another. */
export type Leaf = Map<string, CompiledRow[]>

export type RowMatch = {
  readonly kind: 'match'
  readonly rows: readonly CompiledRow[]
  /** Template parameters decoded once; numbers where the template says so. */
  readonly parameters: Parameters
}

/** Builds the tree once, at load. Throws where two rows describe the same request without a discriminator. */
export function compileRows(rows: readonly Row[], aliases: readonly RowAlias[] = []): RowTrie {
  const root = newNode()
  const known = new Map<string, TemplatePart>()
  const compiled = rows.map((row) => ({ row, parts: compileTemplate(row.template, known) }))
  for (const one of compiled) addRow(leafFor(root, one.parts), one)
  for (const alias of aliases) addAliases(root, compiled, alias, known)
  return { root }
}

/** Rows whose template begins with `from` are reached by `to` as well; where that has a row of its own, it stays. */
export type RowAlias = { readonly from: string; readonly to: string; readonly readsOnly?: true }

function addAliases(
  root: Node,
  rows: readonly CompiledRow[],
  { from, to, readsOnly }: RowAlias,
  known: Map<string, TemplatePart>,
): void {
  const before = compileTemplate(from, known)
  const after = compileTemplate(to, known)
  for (const { row, parts } of rows) {
    if (!before.every((part, at) => parts[at] === part) || (readsOnly === true && row.effect !== 'read'))
      continue
    const alias = { row, parts: [...after, ...parts.slice(before.length)], isAlias: true }
    const leaf = leafFor(root, alias.parts)
    if (leaf.get(row.method)?.some(({ isAlias }) => isAlias !== true) !== true) addRow(leaf, alias)
  }
}

function newNode(): Node {
  return { literals: null, folded: null, parameter: null, tail: null, leaf: null }
}

function leafFor(root: Node, parts: readonly TemplatePart[]): Leaf {
  let node = root
  for (const part of parts) {
    if (part.kind === 'tail') {
      node.tail ??= new Map()
      return node.tail
    }
    node = part.kind === 'literal' ? literalChild(node, part.text) : parameterChild(node)
  }
  node.leaf ??= new Map()
  return node.leaf
}

function literalChild(node: Node, text: string): Node {
  const known = node.literals?.get(text)
  if (known !== undefined) return known
  const child = newNode()
  const lower = text.toLowerCase()
  node.literals ??= new Map()
  // One map for both as long as every word is in lower case, which nearly all are.
  if (lower !== text && (node.folded === null || node.folded === node.literals))
    node.folded = new Map(node.literals)
  node.folded ??= node.literals
  node.literals.set(text, child)
  node.folded.set(lower, child)
  return child
}

function parameterChild(node: Node): Node {
  node.parameter ??= newNode()
  return node.parameter
}

function addRow(leaf: Leaf, compiled: CompiledRow): void {
  const { row } = compiled
  const rows = leaf.get(row.method)
  if (rows === undefined) {
    leaf.set(row.method, [compiled])
    return
  }
  const isClash = (other: Row) =>
    other.when === undefined || row.when === undefined || other.template !== row.template
  if (rows.some((other) => isClash(other.row)))
    throw new Error(`two catalogue rows describe ${row.method} ${row.template}`)
  rows.push(compiled)
}

/**
 * Finds the rows of a path and method: literal beats parameter beats tail, decided on the path alone, so that a known
 * path with another method is not taken for a parameter's value. HEAD is looked up as GET. Null when no row describes
 * the request; a refusal where a parameter's value could be read in two ways. The cost grows with the number of
 * segments, not of rows.
 */
export function lookUp(trie: RowTrie, method: string, path: PathSegments): RowMatch | Refusal | null {
  const leaf = descend(trie.root, path.segments, 0, 'literals')
  if (leaf === null) return null
  const rows = rowsOf(leaf, method)
  const first = rows?.[0]
  if (rows === undefined || first === undefined) return null
  const parameters = bind(first.parts, path)
  if (parameters === null || isRefusal(parameters)) return parameters
  return { kind: 'match', rows, parameters: parameters.values }
}

export function rowsOf(leaf: Leaf, method: string): CompiledRow[] | undefined {
  return leaf.get(method) ?? leaf.get('*') ?? (method === 'HEAD' ? leaf.get('GET') : undefined)
}

/** Raw and once-decoded segments, without a connector's own prefix. */
export type PathSegments = { readonly rawSegments: readonly string[]; readonly segments: readonly string[] }

/** The rows of a path, by its words as they are or (lower-case segments given) whatever their case. */
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

/** A value that only lenient readers take for a number (`01`, `+1`, `1abc`) is refused; other words are another path. */
function readNumber(name: string, text: string): number | Refusal | null {
  if (/^(0|[1-9][0-9]{0,14})$/.test(text)) return Number(text)
  if (text.includes('/')) return encodedSlash(name)
  return /^[\s+-]*[0-9]/.test(decodedFully(text))
    ? refusal('ambiguous_request', `{${name}} must be a plain decimal number, not "${text.slice(0, 40)}"`)
    : null
}

/** The decoded value of a tail: what the upstream will see as a path of its own. */
function readTail(segments: readonly string[]): string | Refusal {
  const value = segments.join('/')
  if (value.split('/').some((part) => part === '' || part === '.' || part === '..')) {
    return refusal(
      'ambiguous_request',
      'the last path parameter holds an empty or dot segment; send it resolved',
    )
  }
  return value
}

function encodedSlash(name: string): Refusal {
  return refusal('ambiguous_request', `{${name}} is one path segment and may not hold an encoded slash (%2F)`)
}

export function pathParameter(): Refusal {
  return refusal('ambiguous_request', 'a path segment holds ";", which some servers cut off; send it as %3B')
}
