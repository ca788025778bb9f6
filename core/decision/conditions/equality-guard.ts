import { CANONICAL_FUNCTION, type createCelEnvironment } from './cel-environment.ts'
import { type CelNode, calledName, childrenOf } from './cel-node.ts'

/**
 * A comparison of a fact with a constant text that must hold for a condition to be true. If the fact has another
 * text, the condition is false.
 */
export type EqualityGuard = {
  /** Source text of the fact. Guards with the same text read the same fact. */
  readonly fact: string
  readonly constant: string
  /** Returns the value of the fact; undefined if it cannot be read. */
  readonly read: (facts: Readonly<Record<string, unknown>>) => unknown
}

/**
 * Returns the guards of a compiled condition. A condition that compares a fact with a constant text is its own guard.
 * In a condition with `&&`, each operand that makes such a comparison is a guard.
 */
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
 * Returns the source text of a fact, or of a canonical function that is called with a fact; null for any other
 * expression. The text keeps the operators of the condition, so that it gives the same value or the same error.
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
