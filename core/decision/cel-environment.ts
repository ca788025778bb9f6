import { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'

/** The variables that conditions may use; everything else is a compile error. */
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

/** Structural limits of one condition; the text itself is limited by the schema. */
const LIMITS = { maxAstNodes: 300, maxDepth: 32, maxListElements: 64, maxMapEntries: 32, maxCallArguments: 8 }

/** The name under which `matches` is called after its pattern was compiled (see cel-shape.ts). */
export const LINEAR_MATCHES = 'matches_linear'

/**
 * The CEL dialect of policies: the standard library, `matches` on an engine that takes linear time, and arithmetic
 * between int and double (facts come from JSON, where 2 and 2.0 are the same number).
 */
export function createCelEnvironment(): Environment {
  const cel = new Environment({ homogeneousAggregateLiterals: false, limits: LIMITS })
  for (const name of FACT_NAMES) cel.registerVariable(name, 'map')
  cel.registerVariable('now', 'google.protobuf.Timestamp')
  cel.registerType('LinearRegex', RE2JS)
  cel.registerFunction(
    `string.${LINEAR_MATCHES}(LinearRegex): bool`,
    (text: string, pattern: RE2JS) => pattern.test(text),
    { async: false },
  )
  for (const [op, apply] of ARITHMETIC) {
    cel.registerOperator(`int ${op} double: double`, (a: bigint, b: number) => apply(Number(a), b))
    cel.registerOperator(`double ${op} int: double`, (a: number, b: bigint) => apply(a, Number(b)))
  }
  return cel
}

const ARITHMETIC: ReadonlyArray<readonly [string, (a: number, b: number) => number]> = [
  ['+', (a, b) => a + b],
  ['-', (a, b) => a - b],
  ['*', (a, b) => a * b],
  ['/', (a, b) => a / b],
]
