import type { Pattern } from '../../action/pattern.ts'
import { undeclaredParameter } from '../../connectors/fields/declared-parameters.ts'
import { type CelNode, childrenOf, pathOf } from '../conditions/cel-node.ts'
import { parseCondition } from '../conditions/condition.ts'
import { factsOf } from '../conditions/fact-shapes.ts'

/**
 * Sentences, without a full stop, about parameters that a condition reads although no catalogue row in the policy's
 * scope declares them. `errors`: no action in the scope can have the parameter. `warnings`: an action that is not in
 * the catalogue may have it.
 */
export type UndeclaredNames = { readonly errors: readonly string[]; readonly warnings: readonly string[] }

/** Checks `parameters.NAME`, `has(parameters.NAME)` and `"NAME" in parameters` of one condition. */
export function undeclaredNames(text: string, patterns: readonly Pattern[]): UndeclaredNames {
  const root = parseCondition(text)
  const errors: string[] = []
  const warnings: string[] = []
  for (const name of root === null ? [] : new Set([...namesRead(root), ...namesSought(root)])) {
    const found = undeclaredParameter(patterns, name)
    if (found === null) continue
    const list = found.isCertain ? errors : warnings
    const whose = found.isCertain
      ? 'no action in the scope of the policy'
      : 'no catalogue action in the scope of the policy'
    list.push(`${whose} has the parameter parameters.${name} (${found.hint})`)
  }
  return { errors, warnings }
}

function namesRead(root: CelNode): readonly string[] {
  return factsOf(root).flatMap(({ path: { root: fact, keys } }) => {
    const [name] = keys
    return fact === 'parameters' && typeof name === 'string' ? [name] : []
  })
}

function namesSought(node: CelNode): readonly string[] {
  const children = childrenOf(node.args)
  const [left, right] = children
  const path = node.op === 'in' && right !== undefined ? pathOf(right) : null
  const isSought = path?.root === 'parameters' && path.keys.length === 0 && left?.op === 'value'
  const own = isSought && typeof left?.args === 'string' ? [left.args] : []
  return [...own, ...children.flatMap(namesSought)]
}
