import { RE2JS, RE2JSException } from 're2js'
import { LINEAR_MATCHES } from './cel-environment.ts'
import { type CelNode, COMPREHENSIONS, childrenOf, ShapeError } from './cel-node.ts'

/** Maximum cost of one evaluation, in node visits. The body of a comprehension counts `ELEMENTS` times. */
export const MAX_COST = 10_000
export const ELEMENTS = 64

/**
 * Functions that conditions must not call. `split`, `join` and `json` create values of any size; `bind` binds a value
 * to a name, so that nested calls can double its size; `LINEAR_MATCHES` is internal.
 */
export const REFUSED_FUNCTIONS: ReadonlySet<string> = new Set([
  'split',
  'join',
  'json',
  'bind',
  LINEAR_MATCHES,
])

/**
 * Bounds the cost of a condition. A condition may contain one level of comprehensions, over facts or literals, and
 * regular expressions that are literals. Compiles each pattern once and stores it in its node. Throws ShapeError for
 * any other condition.
 */
export function boundShape(root: CelNode): void {
  const cost = visit(root, false)
  if (cost > MAX_COST)
    throw new ShapeError(
      `the condition costs ${cost} steps, and at most ${MAX_COST} are allowed; simplify it`,
      root.start,
    )
}

function visit(node: CelNode, isInside: boolean): number {
  if (node.op !== 'rcall') return 1 + visitAll(childrenOf(node.args), isInside)
  const [name, receiver, args] = node.args as [string, CelNode, CelNode[]]
  if (REFUSED_FUNCTIONS.has(name)) throw new ShapeError(`${name}() is not available in policies`, node.start)
  if (COMPREHENSIONS.has(name) && args.length >= 2) return visitComprehension(node, receiver, args, isInside)
  if (name === 'matches') compilePattern(node, args)
  return 1 + visit(receiver, isInside) + visitAll(args, isInside)
}

function visitComprehension(node: CelNode, range: CelNode, body: CelNode[], isInside: boolean): number {
  if (isInside)
    throw new ShapeError('comprehensions, such as all() and exists(), cannot be nested', node.start)
  if (joinsLists(range))
    throw new ShapeError(
      'a comprehension, such as all() or exists(), cannot range over a sum of lists',
      range.start,
    )
  return 1 + visit(range, false) + ELEMENTS * visitAll(body, true)
}

function visitAll(nodes: readonly CelNode[], isInside: boolean): number {
  return nodes.reduce((cost, child) => cost + visit(child, isInside), 0)
}

function joinsLists(node: CelNode): boolean {
  return node.op === '+' || childrenOf(node.args).some(joinsLists)
}

function compilePattern(node: CelNode, args: readonly CelNode[]): void {
  const [pattern] = args
  if (pattern?.op !== 'value' || typeof pattern.args !== 'string') {
    throw new ShapeError('matches() needs a literal pattern', node.start)
  }
  const regex = compileRegex(pattern.args, pattern.start)
  Object.assign(pattern, { args: regex })
  const call = node.args as unknown[]
  call[0] = LINEAR_MATCHES
}

function compileRegex(text: string, start: number): RE2JS {
  try {
    return RE2JS.compile(text)
  } catch (cause) {
    if (!(cause instanceof RE2JSException)) throw cause
    throw new ShapeError(`invalid regular expression (RE2 syntax): ${cause.message}`, start)
  }
}
