import { comparedActionWarning, unknownConnectorWarning } from '../../connectors/action-names.ts'
import { nearest } from '../../nearest.ts'
import { type CelNode, calledName, childrenOf, pathOf } from './cel-node.ts'
import { parseCondition } from './condition.ts'
import { factsOf, KNOWN_HINTS } from './fact-shapes.ts'

/** Returns warnings, as full sentences, about a condition that names unknown hints, actions or connector types. */
export function conditionWarnings(text: string): readonly string[] {
  const root = parseCondition(text)
  return root === null ? [] : [...unknownHints(root), ...comparedNames(root)]
}

function unknownHints(root: CelNode): readonly string[] {
  return factsOf(root).flatMap(({ path: { root: fact, keys } }) => {
    const [hint] = keys
    if (fact !== 'hints' || typeof hint !== 'string' || KNOWN_HINTS.includes(hint)) return []
    const meant = nearest(hint, KNOWN_HINTS)
    const question = meant === undefined ? '' : ` Did you mean hints.${meant}?`
    return [`hints.${hint} is not a known hint, so it has a value only if a caller states it.${question}`]
  })
}

const EQUALITY = new Set(['==', '!=', 'in'])

/**
 * Returns warnings about literals that a condition compares with the action name or the connector type, but that equal
 * no known name or type.
 */
function comparedNames(node: CelNode): readonly string[] {
  const children = childrenOf(node.args)
  const isBeginning = calledName(node) === 'startsWith'
  const isCompared = isBeginning || EQUALITY.has(node.op)
  const warnings = isCompared ? children.flatMap((child) => warningsFor(child, children, isBeginning)) : []
  return [...warnings, ...children.flatMap(comparedNames)]
}

function warningsFor(fact: CelNode, compared: readonly CelNode[], isBeginning: boolean): readonly string[] {
  const path = pathOf(fact)
  const name = path?.keys.length === 1 ? `${path.root}.${String(path.keys[0])}` : ''
  const texts = compared.flatMap(literalsOf)
  if (name === 'action.type') return texts.flatMap((text) => comparedActionWarning(text, isBeginning) ?? [])
  const isType = name === 'connector.type' && !isBeginning
  return isType ? texts.flatMap((text) => unknownConnectorWarning(text) ?? []) : []
}

function literalsOf(node: CelNode): readonly string[] {
  if (node.op === 'value') return typeof node.args === 'string' ? [node.args] : []
  return node.op === 'list' ? childrenOf(node.args).flatMap(literalsOf) : []
}

/**
 * Returns the target fact that the condition tests with `has()`, such as `resource.target`; null if there is none. With
 * `has()`, a deny or require_approval rule does not apply to requests without a target. Without `has()`, the condition
 * cannot be evaluated for these requests, and the rule applies.
 */
export function guardedTarget(text: string): string | null {
  const root = parseCondition(text)
  return root === null ? null : (guardedIn(root)[0] ?? null)
}

function guardedIn(node: CelNode): readonly string[] {
  const children = childrenOf(node.args)
  const [argument] = children
  const path = calledName(node) === 'has' && argument !== undefined ? pathOf(argument) : null
  const isTarget = path?.root === 'resource' && ['target', 'account'].includes(String(path.keys[0]))
  return [...(isTarget ? [`resource.${String(path.keys[0])}`] : []), ...children.flatMap(guardedIn)]
}

const SPELLED: ReadonlySet<string> = new Set(['path', 'segments', 'raw_path'])

/**
 * Returns a fact of the condition that contains names of the provider as the agent sent them, such as `request.path`;
 * null if there is none.
 */
export function spelledFact(text: string): string | null {
  const root = parseCondition(text)
  const paths = root === null ? [] : factsOf(root).map(({ path }) => path)
  const found = paths.find(({ root: fact, keys: [key] }) =>
    fact === 'request' ? SPELLED.has(String(key)) : fact === 'resource' && key === 'raw_target',
  )
  return found === undefined ? null : `${found.root}.${String(found.keys[0])}`
}
