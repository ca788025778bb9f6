import { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import { canonicalName, type NameKind } from '../../connectors/names.ts'

/** Variables of conditions. Any other name is a compile error. */
export const FACT_NAMES = [
  'action',
  'resource',
  'parameters',
  'hints',
  'context',
  'agent',
  'gateway',
  'connector',
  'request',
  'risk',
] as const

/** Limits for the structure of one condition. The schema limits the length of its text. */
export const CONDITION_LIMITS = {
  maxAstNodes: 300,
  maxDepth: 32,
  maxListElements: 64,
  maxMapEntries: 32,
  maxCallArguments: 8,
}

/** Internal name of `matches` after its pattern is compiled (see cel-shape.ts). */
export const LINEAR_MATCHES = 'matches_linear'

/**
 * Names of functions that only the compiler inserts. The functions of `CANONICAL_FUNCTION` return the canonical
 * spelling of a name, one for each kind of name. `ONE_VALUE` returns its argument, and throws for a list.
 */
export const CANONICAL_FUNCTION: Readonly<Record<NameKind, string>> = {
  name: 'canonical_name',
  repository: 'canonical_repository',
  branch: 'canonical_branch',
}
export const ONE_VALUE = 'one_value'
export const COMPILER_FUNCTIONS: ReadonlySet<string> = new Set([
  ...Object.values(CANONICAL_FUNCTION),
  ONE_VALUE,
])

/**
 * Creates the CEL dialect of policies: the standard library, `matches` on a linear-time engine, and arithmetic between
 * int and double (facts come from JSON, where 2 and 2.0 are the same number).
 */
export function createCelEnvironment(): Environment {
  const cel = new Environment({ homogeneousAggregateLiterals: false, limits: CONDITION_LIMITS })
  for (const name of FACT_NAMES) cel.registerVariable(name, 'map')
  cel.registerVariable('now', 'google.protobuf.Timestamp')
  cel.registerType('LinearRegex', RE2JS)
  cel.registerFunction(`string.${LINEAR_MATCHES}(LinearRegex): bool`, matchesWithin, { async: false })
  registerCompilerFunctions(cel)
  for (const type of ['string', 'int', 'double', 'bool']) {
    cel.registerOperator(`list == ${type}: bool`, refuseList)
  }
  for (const [op, apply] of ARITHMETIC) {
    cel.registerOperator(`int ${op} double: double`, (a: bigint, b: number) => apply(Number(a), b))
    cel.registerOperator(`double ${op} int: double`, (a: number, b: bigint) => apply(a, Number(b)))
  }
  return cel
}

/** Maximum cost of one match: characters of the text times instructions of the pattern. */
export const MAX_MATCH_STEPS = 1024 * 1024

/**
 * Matches the text with the pattern. Throws if the match would cost more than `MAX_MATCH_STEPS`. The condition then
 * cannot be evaluated, which can only make the decision stricter.
 */
function matchesWithin(text: string, pattern: RE2JS): boolean {
  if (text.length * pattern.programSize() > MAX_MATCH_STEPS)
    throw new Error('the text is too long to be matched with the regular expression')
  return pattern.test(text)
}

function registerCompilerFunctions(cel: Environment): void {
  for (const [kind, name] of Object.entries(CANONICAL_FUNCTION) as [NameKind, string][]) {
    const canonical = (value: unknown): unknown => canonicalValue(kind, value)
    cel.registerFunction(`${name}(dyn): dyn`, canonical, { async: false })
  }
  cel.registerFunction(`${ONE_VALUE}(dyn): dyn`, oneValue, { async: false })
}

function canonicalValue(kind: NameKind, value: unknown): unknown {
  if (typeof value === 'string') return canonicalName(kind, value)
  if (Array.isArray(value)) return value.map((item) => canonicalValue(kind, item))
  return value instanceof Map ? withCanonicalKeys(kind, value) : value
}

/**
 * Returns the map with canonical keys, because the keys are names in a condition such as `resource.target in
 * context.owners`.
 */
function withCanonicalKeys(kind: NameKind, map: ReadonlyMap<unknown, unknown>): unknown {
  return new Map(
    [...map].map(([key, item]) => [typeof key === 'string' ? canonicalName(kind, key) : key, item]),
  )
}

function oneValue(value: unknown): unknown {
  return Array.isArray(value) ? refuseList() : value
}

/**
 * Throws for a repeated parameter that a condition compares with one value. The value of the parameter is a list, so
 * the result of the comparison would be neither true nor false.
 */
function refuseList(): never {
  throw new Error('a list cannot be compared with a single value')
}

const ARITHMETIC: ReadonlyArray<readonly [string, (a: number, b: number) => number]> = [
  ['+', (a, b) => a + b],
  ['-', (a, b) => a - b],
  ['*', (a, b) => a * b],
  ['/', (a, b) => a / b],
]
