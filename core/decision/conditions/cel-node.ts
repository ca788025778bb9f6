/**
 * Properties of a parsed CEL node. `args` of a function call is `[name, args]`, of a method call `[name, receiver,
 * args]`.
 */
export type CelNode = {
  readonly op: string
  readonly args: unknown
  /**
   * Offsets of the node in the text of the condition. They may exclude a parenthesis around the first or last operand.
   */
  readonly start: number
  readonly end: number
}

/**
 * Error for a condition that is too expensive or uses unsupported features. `start` is an offset into the text of the
 * condition.
 */
export class ShapeError extends Error {
  override readonly name = 'ShapeError'
  readonly start: number

  constructor(message: string, start: number) {
    super(message)
    this.start = start
  }
}

export const COMPREHENSIONS: ReadonlySet<string> = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

/** CEL comprehension, for example `RANGE.exists(VARIABLE, BODY)`. */
export type Comprehension = {
  readonly range: CelNode
  readonly variable: string
  readonly body: readonly CelNode[]
}

export function comprehensionOf(node: CelNode): Comprehension | null {
  if (node.op !== 'rcall') return null
  const [name, range, [variable, ...body]] = node.args as [string, CelNode, CelNode[]]
  if (!COMPREHENSIONS.has(name) || variable?.op !== 'id' || body.length === 0) return null
  return { range, variable: String(variable.args), body }
}

/**
 * Path of a fact in a condition: a variable and the keys after it, such as `resource.target` or
 * `parameters["owner"][0]`.
 */
export type FactPath = { readonly root: string; readonly keys: readonly (string | bigint)[] }

export function pathOf(node: CelNode): FactPath | null {
  if (node.op === 'id') return { root: String(node.args), keys: [] }
  if (node.op !== '.' && node.op !== '[]') return null
  const [receiver, key] = node.args as [CelNode, CelNode | string]
  const path = pathOf(receiver)
  const text = typeof key === 'string' ? key : key.op === 'value' ? key.args : null
  if (path === null || (typeof text !== 'string' && typeof text !== 'bigint')) return null
  return { root: path.root, keys: [...path.keys, text] }
}

/** Returns the name of a called function or method; null for any other node. */
export function calledName({ op, args }: CelNode): string | null {
  return op === 'call' || op === 'rcall' ? String((args as unknown[])[0]) : null
}

export function childrenOf(args: unknown): CelNode[] {
  if (Array.isArray(args)) return args.flatMap(childrenOf)
  return isNode(args) ? [args] : []
}

function isNode(value: unknown): value is CelNode {
  return typeof value === 'object' && value !== null && 'op' in value && 'args' in value
}
