import { CANONICAL_FUNCTION, type createCelEnvironment } from './cel-environment.ts'
import { type CelNode, calledName, childrenOf } from './cel-node.ts'

/**
 * Comparison of a fact with a constant text that a condition requires. If the fact has the value of another text, the
 * condition is false.
 */
export type EqualityGuard = {
  /** Source text of the fact. Guards with the same text read the same fact. */
  readonly fact: string
  readonly constant: string
  /** Returns the value of the fact; undefined if it cannot be read. */
  readonly read: (facts: Readonly<Record<string, unknown>>) => unknown
}

/** Returns the guards of a compiled condition: of the condition itself, and of the operands of its `&&`. */
export function equalityGuards(
  node: CelNode,
  cel: ReturnType<typeof createCelEnvironment>,
): readonly EqualityGuard[] {
  if (node.op === '&&') return childrenOf(node.args).flatMap((operand) => equalityGuards(operand, cel))
  if (node.op !== '==') return []
  const [left, right] = node.args as [CelNode, CelNode]
  const guard = guardOf(left, right) ?? guardOf(right, left)
  if (guard === null) return []
  const { fact, constant } = guard
  const program = cel.parse(fact)
  const read: EqualityGuard['read'] = (facts) => {
    try {
      return program(facts)
    } catch {
      return undefined
    }
  }
  return [{ fact, constant, read }]
}

function guardOf(fact: CelNode, constant: CelNode): Pick<EqualityGuard, 'fact' | 'constant'> | null {
  if (constant.op !== 'value' || typeof constant.args !== 'string') return null
  const text = factText(fact)
  return text === null ? null : { fact: text, constant: constant.args }
}

const CANONICAL: ReadonlySet<string> = new Set(Object.values(CANONICAL_FUNCTION))

/**
 * Returns the source text of a fact, or of a fact in canonical spelling; null for any other expression. The text keeps
 * the operators of the condition, so that its value and its errors are the same.
 */
function factText(node: CelNode): string | null {
  if (node.op === 'call' && CANONICAL.has(calledName(node) ?? '')) {
    const [name, [argument]] = node.args as [string, CelNode[]]
    const path = argument === undefined ? null : pathText(argument)
    return path === null ? null : `${name}(${path})`
  }
  return node.op === 'id' ? null : pathText(node)
}

function pathText(node: CelNode): string | null {
  if (node.op === 'id') return String(node.args)
  if (node.op !== '.' && node.op !== '[]') return null
  const [receiver, key] = node.args as [CelNode, CelNode | string]
  const before = pathText(receiver)
  if (before === null) return null
  if (typeof key === 'string') return `${before}.${key}`
  if (key.op !== 'value' || typeof key.args !== 'string') return null
  // CEL has no escape for half of a surrogate pair.
  return key.args.isWellFormed() ? `${before}[${JSON.stringify(key.args)}]` : null
}
