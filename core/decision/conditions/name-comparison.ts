import type { NameKind, NameRules } from '../../connectors/names.ts'
import {
  type CelNode,
  calledName,
  childrenOf,
  comprehensionOf,
  type FactPath,
  pathOf,
  ShapeError,
} from './cel-node.ts'

/**
 * Content of an expression: names of one kind, names mixed with other values (`mixed`), an object or text of the
 * parameters that may contain names (`parameter`), or no names of the provider (null).
 */
export type HeldKind = NameKind | 'mixed' | 'parameter' | null

/** Facts, literals and patterns that one expression without logic operators (`&&`, `||`, `!`) compares. */
export type NameComparison = {
  readonly facts: { readonly node: CelNode; readonly kind: HeldKind }[]
  readonly literals: { readonly node: CelNode; readonly isCompared: boolean }[]
  readonly patterns: CelNode[]
  /**
   * Functions and operators that the expression applies to a fact. The compared value is their result, which differs
   * from the fact.
   */
  readonly operations: CelNode[]
  hasMap: boolean
}

export type NameScope = {
  readonly rules: NameRules
  /** Content of each variable of the enclosing comprehensions. */
  readonly variables: ReadonlyMap<string, HeldKind>
  /** Callback for each nested comparison or logical expression, which is a comparison of its own. */
  readonly visit: (node: CelNode, scope: NameScope) => void
}

export const LOGIC: ReadonlySet<string> = new Set(['&&', '||', '!_'])
export const EQUALITY: ReadonlySet<string> = new Set(['==', '!=', 'in'])
export const COMPARISON: ReadonlySet<string> = new Set([...EQUALITY, '<', '<=', '>', '>='])

export function nameComparisonOf(root: CelNode, scope: NameScope): NameComparison {
  const comparison = emptyComparison()
  if (!COMPARISON.has(root.op)) collect(root, false, { scope, comparison })
  else
    for (const operand of operandsOf(root, scope))
      collect(operand, EQUALITY.has(root.op), { scope, comparison })
  return comparison
}

function emptyComparison(): NameComparison {
  return { facts: [], literals: [], patterns: [], operations: [], hasMap: false }
}

/** Returns the operands that may contain names. The keys of a fact are no names, as in `"owner" in parameters`. */
function operandsOf({ op, args }: CelNode, { variables }: NameScope): readonly CelNode[] {
  const [left, right] = args as [CelNode, CelNode]
  const isAmongKeys = op === 'in' && right.op === 'id' && !variables.has(String(right.args))
  if (isAmongKeys && left.op !== 'value')
    throw new ShapeError(`only a literal can be compared with the keys of ${String(right.args)}`, left.start)
  if (op === 'in' && right.op === 'map')
    return [left, ...(right.args as [CelNode, CelNode][]).map(([key]) => key)]
  return isAmongKeys ? [left] : [left, right]
}

export function kindOf({ facts, hasMap }: NameComparison): HeldKind {
  const kinds = facts.map(({ kind }) => kind)
  const kind =
    (['mixed', 'repository', 'name', 'branch', 'parameter'] as const).find((one) => kinds.includes(one)) ??
    null
  const isOfTwoRules = kinds.includes('branch') && kind !== 'branch'
  return kind !== null && (hasMap || isOfTwoRules) ? 'mixed' : kind
}

type Into = { readonly scope: NameScope; readonly comparison: NameComparison }

function collect(node: CelNode, isCompared: boolean, into: Into): void {
  const { scope, comparison } = into
  const path = pathOf(node)
  if (path !== null) comparison.facts.push({ node, kind: kindOfPath(path, scope) })
  else if (node.op === 'value') collectLiteral(node, isCompared, comparison)
  else if (LOGIC.has(node.op) || COMPARISON.has(node.op)) scope.visit(node, scope)
  else if (comprehensionOf(node) !== null) collectComprehension(node, into)
  else if (node.op === '?:') collectChoice(node, isCompared, into)
  else if (NO_NAMES.has(calledName(node) ?? '')) visitInside(childrenOf(node.args), scope)
  else collectParts(node, isCompared, into)
}

/** Visits the comparisons inside of expressions whose own value is not compared. */
function visitInside(nodes: readonly CelNode[], scope: NameScope): void {
  for (const node of nodes) collect(node, false, { scope, comparison: emptyComparison() })
}

/** Functions whose result does not depend on the spelling of their argument. */
const NO_NAMES = new Set(['has', 'size', 'type'])

const UTF8 = new TextDecoder()

/** Collects a literal. Bytes are checked by their text but not changed, because only text has a canonical spelling. */
function collectLiteral(node: CelNode, isCompared: boolean, { literals }: NameComparison): void {
  const { args } = node
  if (typeof args === 'string') literals.push({ node, isCompared })
  if (args instanceof Uint8Array)
    literals.push({ node: { ...node, args: UTF8.decode(args) }, isCompared: false })
}

function collectChoice(node: CelNode, isCompared: boolean, into: Into): void {
  const [condition, ...branches] = node.args as [CelNode, CelNode, CelNode]
  into.scope.visit(condition, into.scope)
  for (const branch of branches) collect(branch, isCompared, into)
}

function collectParts(node: CelNode, isCompared: boolean, into: Into): void {
  const [children, index] = partsOf(node)
  visitInside(index, into.scope)
  const isList = node.op === 'list'
  if (node.op === 'map') into.comparison.hasMap = true
  else if (!isList) into.comparison.operations.push(node)
  if (calledName(node) === 'matches') into.comparison.patterns.push(...children.splice(1))
  const before = into.comparison.facts.length
  for (const child of children) collect(child, isCompared && isList, into)
  if (!index.some((key) => isKeyVariable(key, into.scope))) return
  // The key is a variable, so the compiler cannot determine whether the value is a name.
  const { facts } = into.comparison
  for (const fact of facts.splice(before))
    facts.push(fact.kind === 'parameter' ? { ...fact, kind: 'mixed' } : fact)
}

/** Reports whether the node is a comprehension variable that contains keys of a parameter. */
function isKeyVariable({ op, args }: CelNode, { variables }: NameScope): boolean {
  return op === 'id' && (variables.get(String(args)) ?? null) !== null
}

/**
 * Returns the operands of a node in two groups: those that its value may contain, and the index of an element access.
 * The index into a map literal is in the first group, because CEL compares it with the keys of the map.
 */
function partsOf({ op, args }: CelNode): readonly [parts: CelNode[], index: CelNode[]] {
  const children = childrenOf(args)
  const isIndexed = op === '[]' && children[0]?.op !== 'map'
  return isIndexed ? [children.slice(0, 1), children.slice(1)] : [children, []]
}

/**
 * Collects a comprehension. Its variable has the content of the range. In a comprehension over a map, the variable has
 * the keys of the map, which are no names.
 */
function collectComprehension(node: CelNode, { scope, comparison }: Into): void {
  const found = comprehensionOf(node)
  if (found === null) return
  const { range, variable, body } = found
  const isMap = range.op === 'id' && !scope.variables.has(String(range.args))
  const inner = isMap ? emptyComparison() : nameComparisonOf(range, scope)
  const variables = new Map([...scope.variables, [variable, kindOf(inner)] as const])
  const below = { ...scope, variables }
  const value = calledName(node) === 'map' ? body.at(-1) : undefined
  for (const part of body) if (part !== value) scope.visit(part, below)
  if (value !== undefined) collect(value, false, { scope: below, comparison })
  if (calledName(node) !== 'filter') return
  comparison.facts.push(...inner.facts)
  comparison.literals.push(...inner.literals.map((literal) => ({ ...literal, isCompared: false })))
}

function kindOfPath({ root, keys }: FactPath, { rules, variables }: NameScope): HeldKind {
  const names = keys.filter((key) => typeof key === 'string')
  const last = names.at(-1)
  const around = variables.get(root)
  if (around !== undefined) return last === undefined ? around : kindBelow(around, last, rules)
  if (root === 'resource') return kindOfResource(last, rules)
  if (root !== 'parameters') return null
  return last === undefined ? 'mixed' : kindBelow('parameter', last, rules)
}

function kindBelow(around: HeldKind, key: string, { parameters }: NameRules): HeldKind {
  if (around === null) return null
  if (around !== 'parameter') return 'mixed'
  const bracket = key.indexOf('[')
  return parameters.get(bracket === -1 ? key : key.slice(0, bracket)) ?? 'parameter'
}

function kindOfResource(field: string | undefined, { target, account }: NameRules): HeldKind {
  if (field === undefined) return 'mixed'
  return field === 'target' ? target : field === 'account' ? account : null
}
