import { type CelNode, calledName, childrenOf, comprehensionOf, pathOf, ShapeError } from './cel-node.ts'
import { SHAPED_FACTS } from './fact-shapes.ts'

/** What the variables of the comprehensions around stand for: the path whose keys they are, or a number. */
type Variables = ReadonlyMap<string, string | 'number' | null>

/**
 * Throws ShapeError for a member whose name is computed, `parameters[agent.name]` or `resource["tar" + "get"]`: the name
 * decides how a value is compared and whether any request has it, and a computed one is unknown when the condition is
 * compiled. Below a parameter the elements of a list may be counted, and a comprehension may go through the keys.
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

function rangeOf(range: CelNode, variables: Variables): string | null {
  if (range.op === 'list')
    return childrenOf(range.args).every((item) => isNumber(item, variables)) ? 'number' : null
  return textOf(range)
}

function judgeMember(node: CelNode, variables: Variables): void {
  const [receiver, key] = node.args as [CelNode, CelNode]
  if (key.op === 'value') return
  const held = factsIn(receiver, variables).find((fact) => !isCounted(fact, key, variables))
  if (held === undefined) return
  const text = held.keys.length === 0 ? held.root : `${held.root}.${held.keys.join('.')}`
  throw new ShapeError(
    `the name of a member of ${text} cannot be computed: write it as a literal, ${text}["NAME"], with one comparison for each name`,
    key.start,
  )
}

type Fact = NonNullable<ReturnType<typeof pathOf>>

/** The facts whose members may be meant: `(a ? parameters : context)` and `dyn(parameters)` are what they hold. */
function factsIn(node: CelNode, variables: Variables): readonly Fact[] {
  const path = pathOf(node)
  if (path !== null) return isJudged(path, variables) ? [path] : []
  if (node.op === '?:')
    return childrenOf(node.args)
      .slice(1)
      .flatMap((branch) => factsIn(branch, variables))
  if (calledName(node) === 'dyn') return childrenOf(node.args).flatMap((inner) => factsIn(inner, variables))
  return []
}

function isJudged({ root, keys }: Fact, variables: Variables): boolean {
  if (variables.has(root)) return false
  return root === 'parameters' || (keys.length === 0 && SHAPED_FACTS.has(root))
}

/** An element of a list, or a key that a comprehension over the same map goes through. */
function isCounted(fact: Fact, key: CelNode, variables: Variables): boolean {
  if (fact.keys.length > 0 && isNumber(key, variables)) return true
  return (
    key.op === 'id' &&
    variables.get(String(key.args)) === JSON.stringify([fact.root, ...fact.keys.map(String)])
  )
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
