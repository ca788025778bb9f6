import { type CelNode, calledName, childrenOf, comprehensionOf, pathOf, ShapeError } from './cel-node.ts'
import { SHAPED_FACTS } from './fact-shapes.ts'

/** Content of each variable of the enclosing comprehensions: a number, or a key or element of a range. */
type Variables = ReadonlyMap<string, 'number' | Range>
type Range = { readonly keysOf: string | null; readonly facts: readonly Fact[] }

/**
 * Throws ShapeError for a member with a computed name, such as `parameters[agent.name]` or `resource["tar" + "get"]`.
 * The name determines how the value is compared, and a computed name is unknown at compile time. Below a parameter,
 * list elements may be indexed, and a comprehension may iterate over the keys.
 */
export function assertLiteralMembers(root: CelNode): void {
  visit(root, new Map())
}

function visit(node: CelNode, variables: Variables): void {
  if (node.op === '[]') judgeMember(node, variables)
  const found = comprehensionOf(node)
  if (found === null) {
    for (const child of childrenOf(node.args)) visit(child, variables)
    return
  }
  visit(found.range, variables)
  const inside = new Map([...variables, [found.variable, rangeOf(found.range, variables)] as const])
  for (const part of found.body) visit(part, inside)
}

function rangeOf(range: CelNode, variables: Variables): 'number' | Range {
  const items = range.op === 'list' ? childrenOf(range.args) : []
  if (range.op === 'list' && items.every((item) => isNumber(item, variables))) return 'number'
  return { keysOf: textOf(range), facts: items.flatMap((item) => factsIn(item, variables)) }
}

function judgeMember(node: CelNode, variables: Variables): void {
  const [receiver, key] = node.args as [CelNode, CelNode]
  // An index into a list or map literal selects one of its elements, so it reads no fact by a computed name.
  if (key.op === 'value' || receiver.op === 'list' || receiver.op === 'map') return
  const held = factsIn(receiver, variables).find((fact) => !isCounted(fact, key, variables))
  if (held === undefined) return
  const text = held.keys.length === 0 ? held.root : `${held.root}.${held.keys.join('.')}`
  throw new ShapeError(
    `the name of a member of ${text} cannot be computed: write it as a literal, ${text}["NAME"], with one comparison for each name`,
    key.start,
  )
}

type Fact = NonNullable<ReturnType<typeof pathOf>>

/**
 * Returns the facts that the value of a node may be, for example `(a ? parameters : context)`, `dyn(parameters)`,
 * `[parameters][0]`, `{"a": parameters}.a` and the variable of a comprehension over a list.
 */
function factsIn(node: CelNode, variables: Variables): readonly Fact[] {
  const path = pathOf(node)
  if (path !== null) return factsAt(path, variables)
  const held = HOLDING.has(node.op) || calledName(node) === 'dyn' ? childrenOf(node.args) : []
  return held.flatMap((inner) => factsIn(inner, variables))
}

/**
 * Operators whose value is one of their operands or elements. An access to one element counts as an access to all
 * elements of the literal.
 */
const HOLDING: ReadonlySet<string> = new Set(['?:', 'list', 'map', '.', '[]'])

function factsAt(path: Fact, variables: Variables): readonly Fact[] {
  const { root, keys } = path
  const range = variables.get(root)
  if (range !== undefined) return range === 'number' || keys.length > 0 ? [] : range.facts
  return root === 'parameters' || (keys.length === 0 && SHAPED_FACTS.has(root)) ? [path] : []
}

/** Reports whether the key is allowed: an index into a list, or a key from a comprehension over the same map. */
function isCounted(fact: Fact, key: CelNode, variables: Variables): boolean {
  if (fact.keys.length > 0 && isNumber(key, variables)) return true
  const range = key.op === 'id' ? variables.get(String(key.args)) : undefined
  if (range === undefined || range === 'number') return false
  return range.keysOf === JSON.stringify([fact.root, ...fact.keys.map(String)])
}

const ARITHMETIC: ReadonlySet<string> = new Set(['-', '*', '/', '%', '-_'])
const COUNTING: ReadonlySet<string> = new Set(['size', 'int', 'indexOf', 'lastIndexOf'])

function isNumber(node: CelNode, variables: Variables): boolean {
  if (node.op === 'value') return typeof node.args === 'bigint'
  if (node.op === 'id') return variables.get(String(node.args)) === 'number'
  if (ARITHMETIC.has(node.op) || COUNTING.has(calledName(node) ?? '')) return true
  return node.op === '+' && childrenOf(node.args).some((operand) => isNumber(operand, variables))
}

function textOf(node: CelNode): string | null {
  const path = pathOf(node)
  return path === null ? null : JSON.stringify([path.root, ...path.keys.map(String)])
}
