import { TypeError as CelTypeError, EvaluationError, ParseError } from '@marcbachmann/cel-js'
import type { NameRules } from '../../connectors/names.ts'
import { NAME_RULES, nameRulesOf } from '../../connectors/registry.ts'
import { ChaperoneError } from '../../errors.ts'
import { connectorOf, type Facts } from '../facts/facts.ts'
import { assertDecodedPaths } from '../facts/request-path.ts'
import { canonicalEdits } from './canonical-names.ts'
import { createCelEnvironment } from './cel-environment.ts'
import { type CelNode, ShapeError } from './cel-node.ts'
import { boundShape } from './cel-shape.ts'
import { assertLiteralMembers } from './computed-members.ts'
import { applyEdits } from './condition-edits.ts'
import { foldEnvironmentLiterals } from './environment-literals.ts'
import { assertFoldedEnvironments } from './environment-spelling.ts'
import { type EqualityGuard, equalityGuards } from './equality-guard.ts'
import { assertKnownFacts, unknownName } from './fact-shapes.ts'
import { assertFactTypes } from './fact-types.ts'
import { assertHeaderNames } from './header-literals.ts'
import { requestPresence } from './request-presence.ts'
import { singleValueEdits } from './single-values.ts'

/** A compiled CEL condition of a policy rule. */
export type Condition = {
  readonly text: string
  /**
   * Evaluates the condition. Never throws: returns an error as a value, and the caller derives the stricter result from
   * it.
   */
  evaluate(facts: Facts): boolean | ConditionError
  /** Returns the program of the condition for a provider's name equality rules; null for a provider without rules. */
  programFor(rules: NameRules | null): ConditionProgram
}

/** Compiled program of a condition. Programs with the same text have the same value for the same facts. */
export type ConditionProgram = { readonly text: string; readonly guards: readonly EqualityGuard[] }

/** Reason why a condition has no value, such as `No such key: amount`. */
export type ConditionError = { readonly error: string }

/** Position of a condition in its policy, for messages. `index` counts from 0. */
export type ConditionPlace = { readonly rule: string; readonly index: number }

const CEL = createCelEnvironment()
const FUNCTIONS = [...new Set(CEL.getDefinitions().functions.map(({ name }) => name))]

/**
 * Compiles one condition for the connector types that it can apply to (all by default). Throws ChaperoneError
 * `validation` with rule, condition and column if the condition does not parse, uses unknown names or wrong types,
 * compares a name with a value that the name can never equal, or is too expensive.
 */
export function compileCondition(
  text: string,
  place: ConditionPlace,
  isAbout: (connectorType: string) => boolean = () => true,
): Condition {
  try {
    const { asSent, byRules } = compilePrograms(text, isAbout)
    const programFor = (rules: NameRules | null): Program => byRules.get(rules) ?? asSent
    return {
      text,
      evaluate: (facts) => evaluate(programFor(nameRulesOf(connectorOf(facts))), facts),
      programFor,
    }
  } catch (cause) {
    throw compileError(cause, text, place)
  }
}

/** Parses a condition for static analysis; null if it is not valid CEL. */
export function parseCondition(text: string): CelNode | null {
  try {
    return CEL.parse(text).ast
  } catch {
    return null
  }
}

/**
 * Returns a condition for a text that does not compile. The condition can never be evaluated, so it can only make a
 * decision stricter.
 */
export function brokenCondition(text: string, cause: ChaperoneError): Condition {
  const error = `it does not compile (${cause.message})`
  return { text, evaluate: () => ({ error }), programFor: () => ({ text: error, guards: [] }) }
}

type Program = ConditionProgram & { readonly run: (facts: Facts) => unknown }

/**
 * Compiled programs of a condition. `asSent` compares names exactly. `byRules` has one program for each set of name
 * equality rules that changes the condition.
 */
type Programs = { readonly asSent: Program; readonly byRules: ReadonlyMap<NameRules | null, Program> }

function compilePrograms(text: string, isAbout: (connectorType: string) => boolean): Programs {
  const { ast } = CEL.parse(text)
  assertKnownFacts(ast)
  assertLiteralMembers(ast)
  assertFactTypes(ast)
  assertDecodedPaths(ast)
  assertHeaderNames(ast)
  const written = compileProgram(text)
  const common = singleValueEdits(ast, text)
  const asSent = common.length === 0 ? written : compileProgram(applyEdits(text, common))
  const byRules = new Map<NameRules | null, Program>()
  for (const [connector, rules] of NAME_RULES) {
    const edits = isAbout(connector) ? canonicalEdits(ast, { rules, connector, text }) : []
    if (edits.length > 0) byRules.set(rules, compileProgram(applyEdits(text, [...common, ...edits])))
  }
  return { asSent, byRules }
}

function compileProgram(edited: string): Program {
  const parsed = CEL.parse(edited)
  foldEnvironmentLiterals(parsed.ast)
  assertFoldedEnvironments(parsed.ast)
  boundShape(parsed.ast)
  const checked = parsed.check()
  if (checked.error) throw checked.error
  if (checked.type !== 'bool' && checked.type !== 'dyn') {
    throw new ShapeError(`the condition has the type ${checked.type}, but must be a bool`, 0)
  }
  const run = requestPresence(parsed.ast) ?? parsed
  return { text: edited, run, guards: equalityGuards(parsed.ast, CEL) }
}

function evaluate(program: Program, facts: Facts): boolean | ConditionError {
  try {
    const value = program.run(facts)
    return typeof value === 'boolean' ? value : { error: 'the result is not a bool' }
  } catch (cause) {
    return { error: errorText(cause) }
  }
}

/** Matches the error of the CEL library for the symbol `UNKNOWN`, the value of an unknown fact. */
const UNKNOWN_VALUE = /^Unsupported type: symbol/

function errorText(cause: unknown): string {
  const text = messageOf(cause)
  return UNKNOWN_VALUE.test(text) ? 'the condition reads a fact that is unknown for this request' : text
}

function messageOf(cause: unknown): string {
  if (cause instanceof EvaluationError) return cause.summary
  return cause instanceof Error ? cause.message : String(cause)
}

function compileError(cause: unknown, text: string, { rule, index }: ConditionPlace): unknown {
  const found = locate(cause)
  if (found === null) return cause
  const place = placeIn(text, found.start)
  const detail = `rule "${rule}", condition ${index + 1}, ${place}: ${found.message} in \`${text}\``
  return new ChaperoneError('validation', { detail, cause })
}

/** Returns the column of an error, and the line if the condition has several lines. */
function placeIn(text: string, start: number): string {
  const before = text.slice(0, start).split('\n')
  const column = `column ${(before.at(-1)?.length ?? 0) + 1}`
  return text.includes('\n') ? `line ${before.length}, ${column}` : column
}

function locate(cause: unknown): { message: string; start: number } | null {
  if (cause instanceof ShapeError) return cause
  if (cause instanceof ParseError || cause instanceof CelTypeError || cause instanceof EvaluationError) {
    const message = unknownName(cause.summary, FUNCTIONS) ?? cause.summary
    return { message, start: cause.range?.start ?? 0 }
  }
  return null
}

/** Returns the Unix time in milliseconds of an ISO 8601 time; null if it is invalid. */
export function epochMsOf(iso: string): number | null {
  const time: unknown = PARSE_TIME({ context: { iso } })
  return typeof time === 'bigint' ? Number(time) : null
}

const PARSE_TIME = CEL.parse('(timestamp(context.iso) - timestamp("1970-01-01T00:00:00Z")).getMilliseconds()')
