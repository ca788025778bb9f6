import type { Row } from '../connector.ts'
import { compileTemplate, type TemplatePart } from './template.ts'

/**
 * A catalogue row in the trie. Its template is compiled at the first matching request, because most rows are never
 * matched.
 */
export type CompiledRow = { readonly row: Row; parts: readonly TemplatePart[] | null }

/** All catalogue rows of one API, as a trie over path segments. */
export type RowTrie = { readonly root: Node; readonly aliases: readonly RowAlias[] }

/**
 * Alias of a path prefix: rows whose template begins with `from` also match at `to`. A row of `to` itself takes
 * precedence. `readsOnly`: only read rows match at `to`.
 */
export type RowAlias = { readonly from: string; readonly to: string; readonly readsOnly?: true }

/** A path segment in the trie. Missing children are null instead of empty maps, because most nodes have none. */
export type Node = {
  literals: Map<string, Node> | null
  /** Children of `literals` by their lower-case text, only for the detection of paths in another letter case. */
  folded: Map<string, Node> | null
  parameter: Node | null
  tail: Leaf | null
  leaf: Leaf | null
}

/** Catalogue rows of one path, by HTTP method. If a method has several rows, a request may perform any of them. */
export type Leaf = { [method: string]: CompiledRow[] | undefined }

/**
 * Builds the trie of catalogue rows. Throws if two rows describe the same request without a condition that
 * distinguishes them.
 */
export function compileRows(rows: readonly Row[], aliases: readonly RowAlias[] = []): RowTrie {
  const root = newNode()
  for (const row of rows) addRow(root, { row, parts: null })
  for (const { from, to, readsOnly } of aliases)
    merge(placeOf(root, to).node, placeOf(root, from).node, readsOnly === true)
  return { root, aliases }
}

/**
 * Returns the template that matched this path: the row's own, or the template with the prefix of the matching alias.
 */
export function partsOf(
  { aliases }: RowTrie,
  compiled: CompiledRow,
  segments: readonly string[],
): readonly TemplatePart[] {
  compiled.parts ??= compileTemplate(compiled.row.template)
  const { parts, row } = compiled
  const [first] = parts
  if (aliases.length === 0 || first?.kind !== 'literal' || first.text === segments[0]) return parts
  const alias = aliases.find(
    ({ from, to }) => isBelow(row.template, from) && to.startsWith(`/${segments[0]}/`),
  )
  return alias === undefined ? parts : compileTemplate(alias.to + row.template.slice(alias.from.length))
}

function isBelow(template: string, from: string): boolean {
  return template === from || template.startsWith(`${from}/`)
}

function newNode(): Node {
  return { literals: null, folded: null, parameter: null, tail: null, leaf: null }
}

type Place = { readonly node: Node; readonly isTail: boolean }

/** Returns the node at the end of a template. Creates the missing nodes. */
function placeOf(root: Node, template: string): Place {
  let node = root
  // The last segment is empty if the template ends in a slash.
  for (let from = 1; template !== '/' && from <= template.length; ) {
    const to = endOfSegment(template, from)
    if (template.charCodeAt(from) !== BRACE) node = literalChild(node, template.slice(from, to))
    else if (template.charCodeAt(to - 2) === PLUS) return { node, isTail: true }
    else node = parameterChild(node)
    from = to + 1
  }
  return { node, isTail: false }
}

const BRACE = 0x7b
const PLUS = 0x2b

/**
 * Returns the offset at which the template's segment from `from` ends. The slash in `{name/}` is part of the segment.
 */
function endOfSegment(template: string, from: number): number {
  const slash = template.indexOf('/', from)
  const end = template.charAt(slash + 1) === '}' ? template.indexOf('/', slash + 1) : slash
  return end === -1 ? template.length : end
}

function literalChild(node: Node, text: string): Node {
  return node.literals?.get(text) ?? addLiteral(node, text, newNode())
}

function addLiteral(node: Node, text: string, child: Node): Node {
  const lower = text.toLowerCase()
  node.literals ??= new Map()
  // `literals` and `folded` share one map as long as every literal is lower case, which nearly all are.
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

function addRow(root: Node, compiled: CompiledRow): void {
  const { row } = compiled
  const { node, isTail } = placeOf(root, row.template)
  const leaf = leafOf(node, isTail ? 'tail' : 'leaf')
  const rows = leaf[row.method]
  if (rows === undefined) {
    leaf[row.method] = [compiled]
    return
  }
  const isClash = (other: Row) =>
    other.when === undefined || row.when === undefined || other.template !== row.template
  if (rows.some((other) => isClash(other.row)))
    throw new Error(`two catalogue rows describe ${row.method} ${row.template}`)
  rows.push(compiled)
}

function leafOf(node: Node, which: 'leaf' | 'tail'): Leaf {
  const known = node[which]
  if (known !== null) return known
  const leaf = newLeaf()
  node[which] = leaf
  return leaf
}

/**
 * Creates a leaf. All leaves have the same properties, so that V8 gives them one shape. Methods are upper case, so
 * they cannot collide with members of Object.prototype.
 */
function newLeaf(): Leaf {
  return { GET: undefined, POST: undefined, PUT: undefined, PATCH: undefined, DELETE: undefined }
}

/** Makes all rows below `from` match below `into` as well. Subtrees that `into` lacks are shared, not copied. */
function merge(into: Node, from: Node, readsOnly: boolean): void {
  into.leaf = mergedLeaf(into.leaf, from.leaf, readsOnly)
  into.tail = mergedLeaf(into.tail, from.tail, readsOnly)
  if (from.parameter !== null) mergeParameter(into, from.parameter, readsOnly)
  for (const [text, child] of from.literals ?? []) {
    if (into.literals?.has(text) !== true && !readsOnly) addLiteral(into, text, child)
    else merge(literalChild(into, text), child, readsOnly)
  }
}

function mergeParameter(into: Node, from: Node, readsOnly: boolean): void {
  if (into.parameter === null && !readsOnly) into.parameter = from
  else merge(parameterChild(into), from, readsOnly)
}

function mergedLeaf(own: Leaf | null, from: Leaf | null, readsOnly: boolean): Leaf | null {
  if (from === null || (own === null && !readsOnly)) return own ?? from
  const reached = Object.entries(from).filter(
    ([, rows]) => rows !== undefined && (!readsOnly || rows.every(({ row }) => row.effect === 'read')),
  )
  if (reached.length === 0) return own
  return Object.assign(newLeaf(), Object.fromEntries(reached), present(own))
}

function present(leaf: Leaf | null): Leaf {
  return Object.fromEntries(Object.entries(leaf ?? {}).filter(([, rows]) => rows !== undefined))
}
