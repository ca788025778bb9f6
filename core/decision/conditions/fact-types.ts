import { EFFECT_CLASSES } from '../../action/effect-class.ts'
import { nearest } from '../../nearest.ts'
import { type CelNode, childrenOf, comprehensionOf, type FactPath, pathOf, ShapeError } from './cel-node.ts'

/**
 * Type of a fact. A list of strings enumerates the possible values of the fact; `listOf` enumerates those of its items.
 * Facts with arbitrary content, such as `parameters` and `request.body`, have no type.
 */
export type FactType = 'string' | 'number' | 'bool' | 'list' | 'map' | readonly string[] | ListOf
type ListOf = { readonly listOf: readonly string[] }

const LEVELS = ['low', 'medium', 'high']
export const FACT_TYPES: Readonly<Record<string, Readonly<Record<string, FactType>>>> = {
  action: {
    type: 'string',
    connector: 'string',
    effect: ['read', 'compute', 'write'],
    effects: { listOf: EFFECT_CLASSES },
    risk: LEVELS,
    unmapped: 'bool',
  },
  resource: {
    provider: 'string',
    account: 'string',
    target: 'string',
    raw_target: 'string',
    environment: 'string',
  },
  agent: {
    id: 'string',
    name: 'string',
    environment: 'string',
    runtime: 'string',
    status: ['active', 'suspended', 'revoked'],
  },
  gateway: { name: 'string', environment: 'string' },
  connector: { name: 'string', type: 'string', environment: 'string' },
  request: {
    method: 'string',
    host: 'string',
    path: 'string',
    raw_path: 'string',
    segments: 'list',
    headers: 'map',
  },
  risk: { score: 'number', level: LEVELS, factors: 'list' },
  hints: { irreversible: 'bool', financial_impact: 'bool', production_target: 'bool' },
}

const COMPARISONS: ReadonlySet<string> = new Set(['==', '!=', '<', '<=', '>', '>='])
const NONE: ReadonlySet<string> = new Set()

/**
 * Throws ShapeError if a fact is compared with a value that it cannot have, such as `action.effect == "wirte"` or
 * `risk.score > "0.5"`, and for a field of a fact that has no fields.
 */
export function assertFactTypes(node: CelNode, variables: ReadonlySet<string> = NONE): void {
  const path = pathOf(node)
  if (path !== null) {
    assertHasFields(node, path, variables)
    return
  }
  if (COMPARISONS.has(node.op)) assertComparable(childrenOf(node.args), variables)
  if (node.op === 'in') assertMember(childrenOf(node.args), variables)
  const comprehension = comprehensionOf(node)
  if (comprehension === null) {
    for (const child of childrenOf(node.args)) assertFactTypes(child, variables)
    return
  }
  assertFactTypes(comprehension.range, variables)
  const inside = new Set([...variables, comprehension.variable])
  for (const part of comprehension.body) assertFactTypes(part, inside)
}

function assertHasFields(node: CelNode, path: FactPath, variables: ReadonlySet<string>): void {
  const type = typeOf(path, variables)
  if (type === null || path.keys.length <= 1 || kindOf(type) === 'list' || type === 'map') return
  const name = `${path.root}.${String(path.keys[0])}`
  throw new ShapeError(`${name} is ${article(type)} and has no fields`, node.start)
}

function assertComparable([left, right]: readonly CelNode[], variables: ReadonlySet<string>): void {
  if (left === undefined || right === undefined) return
  assertFits(left, right, variables)
  assertFits(right, left, variables)
}

/** Checks `FACT in [LITERALS]`, and `LITERAL in FACT`, where the fact must be a list. */
function assertMember([left, right]: readonly CelNode[], variables: ReadonlySet<string>): void {
  if (left === undefined || right === undefined) return
  if (right.op === 'list') for (const item of childrenOf(right.args)) assertFits(left, item, variables)
  const path = pathOf(right)
  const type = path === null || path.keys.length !== 1 ? null : typeOf(path, variables)
  if (path === null || type === null || type === 'map') return
  if (kindOf(type) === 'list') {
    assertItem(nameOf(path), type, left)
    return
  }
  throw new ShapeError(`${nameOf(path)} is ${article(type)} and not a list; use contains()`, right.start)
}

function assertFits(fact: CelNode, literal: CelNode, variables: ReadonlySet<string>): void {
  const path = pathOf(fact)
  const type = path === null ? null : comparedType(path, variables)
  if (path === null || type === null || literal.op !== 'value') return
  const given = literalType(literal.args)
  if (given === null) return
  if (given !== kindOf(type))
    throw new ShapeError(
      `${nameOf(path)} is ${article(type)} and is never equal to ${article(given)}`,
      literal.start,
    )
  if (isEnumerated(type)) assertOneOf(literal, type, `${nameOf(path)} is never`)
}

/** Checks `LITERAL in FACT` for a list with enumerated items. */
function assertItem(name: string, type: FactType, item: CelNode): void {
  if (item.op !== 'value' || typeof type === 'string' || isEnumerated(type)) return
  assertOneOf(item, type.listOf, `${name} never contains`)
}

function assertOneOf(literal: CelNode, values: readonly string[], never: string): void {
  const text = String(literal.args)
  if (values.includes(text)) return
  const meant = nearest(text, values)
  const hint = meant === undefined ? ` (values: ${values.join(', ')})` : ` (did you mean ${meant}?)`
  throw new ShapeError(`${never} ${JSON.stringify(literal.args)}${hint}`, literal.start)
}

function isEnumerated(type: FactType): type is readonly string[] {
  return Array.isArray(type)
}

function kindOf(type: FactType): string {
  if (typeof type === 'string') return type
  return isEnumerated(type) ? 'string' : 'list'
}

/**
 * Returns the type of a compared fact; null if it is unknown. A header counts as text, although the value of a
 * repeated header is a list.
 */
function comparedType(path: FactPath, variables: ReadonlySet<string>): FactType | null {
  const type = typeOf(path, variables)
  if (path.keys.length === 1) return type
  return type === 'map' && path.keys.length === 2 ? 'string' : null
}

/** Returns the declared type of a fact; null if it has none. */
function typeOf({ root, keys }: FactPath, variables: ReadonlySet<string>): FactType | null {
  const [field] = keys
  if (variables.has(root) || typeof field !== 'string') return null
  return FACT_TYPES[root]?.[field] ?? null
}

function literalType(value: unknown): 'string' | 'number' | 'bool' | null {
  if (typeof value === 'bigint' || typeof value === 'number') return 'number'
  if (typeof value === 'boolean') return 'bool'
  return typeof value === 'string' ? 'string' : null
}

function article(type: FactType): string {
  return `a ${kindOf(type)}`
}

function nameOf({ root, keys }: FactPath): string {
  return [root, ...keys].map(String).join('.')
}
