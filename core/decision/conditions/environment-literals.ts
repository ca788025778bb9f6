import { fold } from '../../action/pattern.ts'
import { type CelNode, childrenOf } from './cel-node.ts'

/** Facts with a member `environment`. The value of this member is always in lower case (see facts.ts). */
export const ENVIRONMENT_OWNERS: ReadonlySet<string> = new Set(['resource', 'agent', 'gateway', 'connector'])
const COMPARISONS = new Set(['==', '!=', '<', '<=', '>', '>=', 'in'])
const COMPREHENSIONS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

/**
 * Converts literals that are compared with an environment to lower case, in place, so that conditions compare
 * environments without case. Must run before patterns are compiled.
 */
export function foldEnvironmentLiterals(root: CelNode): void {
  visit(root, null)
}

/**
 * Converts literals below a node to lower case. `variable` is the name of the comprehension variable that contains an
 * environment; null if there is no such variable.
 */
function visit(node: CelNode, variable: string | null): void {
  if (node.op === 'rcall') {
    visitMethod(node, variable)
    return
  }
  const children = childrenOf(node.args)
  if (COMPARISONS.has(node.op)) foldWhereCompared(children, variable)
  for (const child of children) visit(child, variable)
}

function visitMethod(node: CelNode, variable: string | null): void {
  const [name, receiver, args] = node.args as [string, CelNode, CelNode[]]
  if (COMPREHENSIONS.has(name)) {
    visitComprehension(receiver, args)
    return
  }
  if (name === 'matches' && isEnvironment(receiver, variable)) ignoreCase(args)
  else foldWhereCompared([receiver, ...args], variable)
  for (const child of [receiver, ...args]) visit(child, variable)
}

function visitComprehension(range: CelNode, [iterated, ...body]: readonly CelNode[]): void {
  const name = String(iterated?.args)
  if (body.some((node) => comparesVariable(node, name))) foldText(range)
  visit(range, null)
  const variable = isEnvironment(range, null) ? name : null
  for (const node of body) visit(node, variable)
}

/** Reports whether the body of a comprehension compares the iteration variable with an environment. */
function comparesVariable(node: CelNode, name: string): boolean {
  const children = childrenOf(node.args)
  const isCompared = COMPARISONS.has(node.op) || node.op === 'rcall'
  const isHere =
    isCompared &&
    children.some((child) => isEnvironment(child, null)) &&
    children.some((child) => child.op === 'id' && child.args === name)
  return isHere || children.some((child) => comparesVariable(child, name))
}

function foldWhereCompared(nodes: readonly CelNode[], variable: string | null): void {
  if (nodes.some((node) => isEnvironment(node, variable))) for (const node of nodes) foldText(node)
}

/** Reports whether the node is an environment, or a list or conditional expression that contains one. */
function isEnvironment(node: CelNode, variable: string | null): boolean {
  if (node.op === 'id') return variable !== null && node.args === variable
  if (node.op === 'list' || node.op === '?:')
    return childrenOf(node.args).some((child) => isEnvironment(child, variable))
  return isEnvironmentField(node)
}

function isEnvironmentField({ op, args }: CelNode): boolean {
  if (op !== '.' && op !== '[]') return false
  const [owner, field] = args as [CelNode, CelNode | string]
  const name = typeof field === 'string' ? field : field.args
  return owner.op === 'id' && ENVIRONMENT_OWNERS.has(String(owner.args)) && name === 'environment'
}

/**
 * Converts text literals to lower case. Calls and fields stay unchanged, because their results are unknown at compile
 * time.
 */
function foldText(node: CelNode): void {
  if (node.op === 'value' && typeof node.args === 'string') Object.assign(node, { args: fold(node.args) })
  if (node.op === 'list' || node.op === '?:' || node.op === '+') childrenOf(node.args).forEach(foldText)
}

function ignoreCase([pattern]: readonly CelNode[]): void {
  if (pattern?.op === 'value' && typeof pattern.args === 'string')
    Object.assign(pattern, { args: `(?i)${pattern.args}` })
}
