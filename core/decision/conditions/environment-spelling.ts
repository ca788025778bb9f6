import { fold } from '../../action/pattern.ts'
import { type CelNode, calledName, childrenOf, comprehensionOf, pathOf, ShapeError } from './cel-node.ts'
import { ENVIRONMENT_OWNERS } from './environment-literals.ts'
import { COMPARISON, LOGIC } from './name-comparison.ts'

/** Content of the variables of the enclosing comprehensions: an environment, or a fact with a member `environment`. */
type Variables = ReadonlyMap<string, 'environment' | 'owner'>
/** Operands of one expression without logic operators (`&&`, `||`, `!`). */
type NameComparison = { readonly literals: CelNode[]; hasEnvironment: boolean; hasOther: boolean }

/**
 * Throws ShapeError for an upper-case literal that is compared with an environment where `foldEnvironmentLiterals` does
 * not convert it to lower case, such as `string(agent.environment) == "Production"`. Environments are in lower case, so
 * such a comparison never matches.
 */
export function assertFoldedEnvironments(root: CelNode): void {
  judge(root, new Map())
}

function judge(node: CelNode, variables: Variables): void {
  if (LOGIC.has(node.op) || node.op === '?:') {
    for (const child of childrenOf(node.args)) judge(child, variables)
    return
  }
  const comparison: NameComparison = { literals: [], hasEnvironment: false, hasOther: false }
  for (const part of COMPARISON.has(node.op) ? childrenOf(node.args) : [node])
    collect(part, comparison, variables)
  const [literal] = comparison.literals
  if (literal === undefined || !comparison.hasEnvironment || comparison.hasOther) return
  const text = String(literal.args)
  throw new ShapeError(
    `environments are in lower case, so ${JSON.stringify(text)} never matches: write ${JSON.stringify(fold(text))}`,
    literal.start,
  )
}

function collect(node: CelNode, comparison: NameComparison, variables: Variables): void {
  const held = heldBy(node, variables)
  if (held === 'environment') comparison.hasEnvironment = true
  else if (held === 'other') comparison.hasOther = true
  else if (node.op === 'value') comparison.literals.push(...(isInCapitals(node.args) ? [node] : []))
  else collectParts(node, comparison, variables)
}

function collectParts(node: CelNode, comparison: NameComparison, variables: Variables): void {
  if (LOGIC.has(node.op) || COMPARISON.has(node.op)) judge(node, variables)
  else if (comprehensionOf(node) !== null) collectComprehension(node, comparison, variables)
  else if (!SPELLED.has(calledName(node) ?? ''))
    for (const child of childrenOf(node.args)) collect(child, comparison, variables)
}

/** Functions whose result does not depend on the spelling of their argument. */
const SPELLED: ReadonlySet<string> = new Set(['has', 'size', 'type'])

/**
 * Reports whether a literal contains upper-case letters. A pattern with `(?i)` does not count, because it ignores
 * case.
 */
function isInCapitals(value: unknown): boolean {
  return typeof value === 'string' && value !== fold(value) && !value.startsWith('(?i)')
}

function collectComprehension(node: CelNode, comparison: NameComparison, variables: Variables): void {
  const found = comprehensionOf(node)
  if (found === null) return
  const range: NameComparison = { literals: [], hasEnvironment: false, hasOther: false }
  collect(found.range, range, variables)
  const isOwners = childrenOf(found.range.args).some((item) => isOwner(item, variables))
  const held = isOwners ? 'owner' : range.hasEnvironment ? 'environment' : null
  const inside = held === null ? variables : new Map([...variables, [found.variable, held] as const])
  for (const part of found.body) judge(part, inside)
  if (calledName(node) === 'map' || calledName(node) === 'filter') {
    comparison.literals.push(...range.literals)
    comparison.hasEnvironment ||= range.hasEnvironment
  }
}

/** Returns whether the node reads an environment or another fact; null for a node that reads no fact. */
function heldBy(node: CelNode, variables: Variables): 'environment' | 'other' | null {
  if (isMemberOfOwner(node, variables)) return 'environment'
  const path = pathOf(node)
  if (path === null) return null
  return path.keys.length === 0 && variables.get(path.root) === 'environment' ? 'environment' : 'other'
}

/**
 * Reports whether the node reads the member `environment` of a fact that has one, including `dyn(agent)`, `[agent][0]`
 * and a comprehension variable.
 */
function isMemberOfOwner({ op, args }: CelNode, variables: Variables): boolean {
  if (op !== '.' && op !== '[]') return false
  const [receiver, field] = args as [CelNode, CelNode | string]
  const name = typeof field === 'string' ? field : field.args
  return name === 'environment' && isOwner(receiver, variables)
}

function isOwner(node: CelNode, variables: Variables): boolean {
  if (node.op === 'id')
    return variables.get(String(node.args)) === 'owner' || ENVIRONMENT_OWNERS.has(String(node.args))
  const isHeld = pathOf(node) === null && (HOLDING.has(node.op) || calledName(node) === 'dyn')
  return isHeld && childrenOf(node.args).some((child) => isOwner(child, variables))
}

const HOLDING: ReadonlySet<string> = new Set(['?:', 'list', 'map', '.', '[]'])
