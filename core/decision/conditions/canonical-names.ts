import { canonicalName, type NameKind, type NameRules } from '../../connectors/names.ts'
import { isCanonicalPattern } from '../permissions/canonical-pattern.ts'
import { CANONICAL_FUNCTION } from './cel-environment.ts'
import { type CelNode, calledName, childrenOf, ShapeError } from './cel-node.ts'
import { type Edit, replaceLiteral, wrapFact } from './condition-edits.ts'
import {
  EQUALITY,
  kindOf,
  LOGIC,
  type NameComparison,
  type NameScope,
  nameComparisonOf,
} from './name-comparison.ts'

export type NameReading = {
  readonly rules: NameRules
  /** Connector type whose equality rules apply, for messages. */
  readonly connector: string
  readonly text: string
}

/**
 * Returns edits that make a condition compare names as the provider does. Literals in `==`, `!=` and `in` become
 * canonical. Facts that are compared with names become canonical during evaluation. Throws ShapeError if a condition
 * uses a name in any other way with a literal that is not canonical, because that condition could never match.
 */
export function canonicalEdits(root: CelNode, reading: NameReading): readonly Edit[] {
  const edits: Edit[] = []
  const visit = (node: CelNode, scope: NameScope): void => {
    if (LOGIC.has(node.op) || node.op === '?:') {
      for (const child of childrenOf(node.args)) visit(child, scope)
      return
    }
    edits.push(...editsOf(node, nameComparisonOf(node, scope), reading))
  }
  visit(root, { rules: reading.rules, variables: new Map(), visit })
  return edits
}

function editsOf(root: CelNode, comparison: NameComparison, reading: NameReading): readonly Edit[] {
  const kind = kindOf(comparison)
  if (kind === null || kind === 'parameter') return []
  if (kind === 'mixed') {
    judgeMixed(comparison, reading)
    return []
  }
  for (const operation of comparison.operations) judgeOperation(operation, reading)
  for (const pattern of comparison.patterns) judgePattern(pattern, { kind, comparison, reading })
  const isEquality = EQUALITY.has(root.op)
  const wrapper = CANONICAL_FUNCTION[isEquality ? kind : 'name']
  return [
    ...literalEdits(comparison, { kind, reading }),
    ...comparison.facts.flatMap(({ node, kind: own }) =>
      own === null || own === 'parameter' ? wrapFact(wrapper, node, reading.text) : [],
    ),
  ]
}

type Judged = { readonly kind: NameKind; readonly reading: NameReading }

function literalEdits(comparison: NameComparison, { kind, reading }: Judged): readonly Edit[] {
  return comparison.literals.flatMap(({ node, isCompared }) => {
    const isWhole = isCompared && comparison.operations.length === 0
    const text = String(node.args)
    const canonical = isWhole ? canonicalName(kind, text) : canonicalPart(kind, text, comparison)
    if (canonical === text) return []
    if (isWhole) return [replaceLiteral(node, canonical)]
    throw notCanonical(comparison, { node, write: JSON.stringify(canonical), reading })
  })
}

/** Returns the canonical spelling of a literal that is compared with a part of a name. */
function canonicalPart(kind: NameKind, text: string, { operations }: NameComparison): string {
  const isEnd = operations.length === 1 && calledName(operations[0] as CelNode) === 'endsWith'
  if (kind === 'repository' && isEnd) return text.toLowerCase().replace(/(?:\.git)+$/, '')
  // Without a colon, the literal may be a part of the branch's owner. The comparison of owners ignores case.
  if (kind === 'branch' && !isEnd && !text.includes(':')) return text.toLowerCase()
  return canonicalName(kind, text)
}

/**
 * Throws ShapeError if a condition compares all parameters at once with a literal that no canonical name equals. The
 * parameters contain names and other values, so no edit can make all of them canonical.
 */
function judgeMixed(comparison: NameComparison, reading: NameReading): void {
  for (const { node } of comparison.literals) {
    const canonical = canonicalName('name', String(node.args))
    if (canonical !== node.args)
      throw notCanonical(comparison, { node, write: JSON.stringify(canonical), reading })
  }
  for (const pattern of comparison.patterns) judgePattern(pattern, { kind: 'name', comparison, reading })
  const other = comparison.facts.find(({ kind }) => kind !== 'mixed')
  if (other !== undefined)
    throw new ShapeError(
      'parameters as a whole and a single field cannot be mixed in one comparison; compare one field by its name',
      other.node.start,
    )
}

function judgeOperation(node: CelNode, { text, connector }: NameReading): void {
  if (calledName(node) !== 'upperAscii') return
  const what = text.slice(node.start, node.end)
  throw new ShapeError(
    `${what}: names of ${connector} are in lower case, compare them without upperAscii()`,
    node.start,
  )
}

function judgePattern(node: CelNode, given: Judged & { readonly comparison: NameComparison }): void {
  const { kind, comparison, reading } = given
  if (typeof node.args !== 'string' || isCanonicalPattern(kind, node.args)) return
  const lower = JSON.stringify(node.args.toLowerCase())
  const write =
    lower === JSON.stringify(node.args) ? 'begin the pattern with (?i)' : `${lower}, or begin it with (?i)`
  throw notCanonical(comparison, { node, write, reading })
}

type Refused = { readonly node: CelNode; readonly write: string; readonly reading: NameReading }

function notCanonical({ facts }: NameComparison, { node, write, reading }: Refused): ShapeError {
  const name = facts.find(({ kind }) => kind !== null && kind !== 'parameter')?.node ?? node
  const fact = reading.text.slice(name.start, name.end)
  return new ShapeError(
    `${fact} is in lower case for ${reading.connector}, because names are compared without case there, so ${JSON.stringify(node.args)} never matches: write ${write}, or use resource.raw_target, which has the spelling of the request`,
    node.start,
  )
}
