import { ONE_VALUE } from './cel-environment.ts'
import { type CelNode, childrenOf, comprehensionOf, pathOf } from './cel-node.ts'
import { type Edit, wrapFact } from './condition-edits.ts'

/**
 * Returns edits that require a single value where a condition tests a fact with `in`
 * (`request.query.mode in ["a", "b"]`). The value of a repeated parameter is a list, for which neither `in` nor
 * `!(… in …)` gives a safe result.
 */
export function singleValueEdits(root: CelNode, text: string): readonly Edit[] {
  return editsBelow(root, { text, sent: SENT })
}

/**
 * Position in a condition. `sent` names the facts that contain data of the request and may therefore be lists, and the
 * comprehension variables over these facts. All other facts are single values.
 */
type Scope = { readonly text: string; readonly sent: ReadonlySet<string> }

const SENT: ReadonlySet<string> = new Set(['parameters', 'request', 'context'])

function editsBelow(node: CelNode, scope: Scope): readonly Edit[] {
  const own = node.op === 'in' ? operandEdits(node.args as [CelNode, CelNode], scope) : []
  const found = comprehensionOf(node)
  if (found === null) return [...own, ...childrenOf(node.args).flatMap((child) => editsBelow(child, scope))]
  const sent = new Set(scope.sent)
  if (isSent(found.range, scope)) sent.add(found.variable)
  else sent.delete(found.variable)
  return [
    ...editsBelow(found.range, scope),
    ...found.body.flatMap((part) => editsBelow(part, { ...scope, sent })),
  ]
}

function isSent(node: CelNode, scope: Scope): boolean {
  const path = pathOf(node)
  if (path !== null) return scope.sent.has(path.root)
  return childrenOf(node.args).some((child) => isSent(child, scope))
}

/**
 * Returns the edits for `LEFT in RIGHT`. Returns no edits if `RIGHT` is a list of lists, because a list can then be one
 * of its elements.
 */
function operandEdits([left, right]: [CelNode, CelNode], { text, sent }: Scope): readonly Edit[] {
  const isListOfLists = right.op === 'list' && childrenOf(right.args).some(({ op }) => op === 'list')
  if (isListOfLists) return []
  const facts = choicesOf(left).filter((fact) => sent.has(pathOf(fact)?.root ?? ''))
  return facts.flatMap((fact) => wrapFact(ONE_VALUE, fact, text))
}

function choicesOf(node: CelNode): readonly CelNode[] {
  if (pathOf(node) !== null) return [node]
  return node.op === '?:' ? childrenOf(node.args).slice(1).flatMap(choicesOf) : []
}
