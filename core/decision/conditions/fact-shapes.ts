import { nearest } from '../../nearest.ts'
import { COMPILER_FUNCTIONS, FACT_NAMES } from './cel-environment.ts'
import {
  type CelNode,
  calledName,
  childrenOf,
  comprehensionOf,
  type FactPath,
  pathOf,
  ShapeError,
} from './cel-node.ts'

/**
 * Fields of the facts with a known shape; `parameters`, `hints`, `context`, `request.query` and `request.body` have
 * arbitrary fields.
 */
export const FACT_FIELDS: ReadonlyMap<string, readonly string[]> = new Map([
  ['action', ['type', 'connector', 'effect', 'effects', 'risk', 'unmapped']],
  ['resource', ['provider', 'account', 'target', 'raw_target', 'environment']],
  ['agent', ['id', 'name', 'environment', 'runtime', 'status']],
  ['gateway', ['name', 'environment']],
  ['connector', ['name', 'type', 'environment']],
  ['request', ['method', 'host', 'path', 'segments', 'raw_path', 'query', 'headers', 'body']],
  ['risk', ['score', 'level', 'factors']],
])

/** Facts whose fields are all known. Any other field of these facts is an error. */
export const SHAPED_FACTS: ReadonlySet<string> = new Set(FACT_FIELDS.keys())

export const KNOWN_HINTS = ['irreversible', 'financial_impact', 'production_target']

/** Fact that a condition reads. Variables of comprehensions do not count as facts. */
export type FactUse = { readonly node: CelNode; readonly path: FactPath }

/**
 * Throws ShapeError for an unknown field, with the nearest known field, and for a call of a function that only the
 * compiler may insert.
 */
export function assertKnownFacts(root: CelNode): void {
  visitFacts(root, new Set(), ({ node, path: { root: fact, keys } }) => {
    const [field] = keys
    const fields = FACT_FIELDS.get(fact)
    if (fields === undefined || typeof field !== 'string' || fields.includes(field)) return
    throw new ShapeError(
      `${fact} has no field "${field}"${meant(field, fields) || ` (fields: ${fields.join(', ')})`}`,
      node.start,
    )
  })
}

/** Returns every fact that the condition reads, each with its longest path. */
export function factsOf(root: CelNode): readonly FactUse[] {
  const found: FactUse[] = []
  visitFacts(root, new Set(), (use) => found.push(use))
  return found
}

function visitFacts(node: CelNode, variables: ReadonlySet<string>, see: (use: FactUse) => void): void {
  const path = pathOf(node)
  if (path !== null) {
    if (!variables.has(path.root)) see({ node, path })
    return
  }
  const name = calledName(node)
  if (name !== null && COMPILER_FUNCTIONS.has(name))
    throw new ShapeError(`${name}() is not available in policies`, node.start)
  const comprehension = comprehensionOf(node)
  if (comprehension === null) {
    for (const child of childrenOf(node.args)) visitFacts(child, variables, see)
    return
  }
  const { range, variable, body } = comprehension
  visitFacts(range, variables, see)
  for (const part of body) visitFacts(part, new Set([...variables, variable]), see)
}

/**
 * Returns the message for an unknown variable or function in an error of the CEL library, with the nearest known name;
 * null for any other error.
 */
export function unknownName(message: string, functions: readonly string[]): string | null {
  const variable = /^Unknown variable: (\S+)$/.exec(message)?.[1]
  if (variable !== undefined) return `Unknown variable: ${variable}${meant(variable, [...FACT_NAMES, 'now'])}`
  const called = /^found no matching overload for '(?:.*\.)?([A-Za-z_]\w*)\(/.exec(message)?.[1]
  if (called === undefined || functions.includes(called)) return null
  const known = functions.filter((name) => !COMPILER_FUNCTIONS.has(name))
  return `Unknown function: ${called}()${meant(called, known)}`
}

function meant(word: string, known: readonly string[]): string {
  const near = nearest(word, known)
  return near === undefined ? '' : ` (did you mean ${near}?)`
}
