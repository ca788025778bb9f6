import { TypeError as CelTypeError, EvaluationError, ParseError } from '@marcbachmann/cel-js'
import { ChaperoneError } from '../errors.ts'
import { createCelEnvironment } from './cel-environment.ts'
import { boundShape, ShapeError } from './cel-shape.ts'
import { foldEnvironmentLiterals } from './environment-literals.ts'
import type { Facts } from './facts.ts'

/** One compiled CEL condition. */
export type Condition = {
  readonly text: string
  /** Never throws: an error is a value, and whoever asks decides which way it tightens. */
  evaluate(facts: Facts): boolean | ConditionError
}

/** Why a condition has no value, e.g. `No such key: amount`. */
export type ConditionError = { readonly error: string }

/** Where a condition stands, for messages. `index` counts from 0. */
export type ConditionPlace = { readonly rule: string; readonly index: number }

const CEL = createCelEnvironment()

/**
 * Compiles one condition. Throws ChaperoneError `validation` that names rule, condition and column when it does not
 * parse, uses unknown names or wrong types, or could cost too much.
 */
export function compileCondition(text: string, place: ConditionPlace): Condition {
  try {
    const parsed = CEL.parse(text)
    foldEnvironmentLiterals(parsed.ast)
    boundShape(parsed.ast)
    const checked = parsed.check()
    if (checked.error) throw checked.error
    if (checked.type !== 'bool' && checked.type !== 'dyn') {
      throw new ShapeError(`has the type ${checked.type}, a condition must be true or false`, 0)
    }
    return { text, evaluate: (facts) => evaluate(parsed, facts) }
  } catch (cause) {
    throw compileError(cause, text, place)
  }
}

function evaluate(parsed: (facts: Facts) => unknown, facts: Facts): boolean | ConditionError {
  try {
    const value = parsed(facts)
    return typeof value === 'boolean' ? value : { error: 'the result is neither true nor false' }
  } catch (cause) {
    return { error: errorText(cause) }
  }
}

function errorText(cause: unknown): string {
  if (cause instanceof EvaluationError) return cause.summary
  return cause instanceof Error ? cause.message : String(cause)
}

function compileError(cause: unknown, text: string, { rule, index }: ConditionPlace): unknown {
  const found = locate(cause)
  if (found === null) return cause
  const detail = `rule "${rule}", condition ${index + 1}, column ${found.start + 1}: ${found.message} in \`${text}\``
  return new ChaperoneError('validation', { detail, cause })
}

function locate(cause: unknown): { message: string; start: number } | null {
  if (cause instanceof ShapeError) return cause
  if (cause instanceof ParseError || cause instanceof CelTypeError || cause instanceof EvaluationError) {
    return { message: cause.summary, start: cause.range?.start ?? 0 }
  }
  return null
}

/** Epoch milliseconds of an ISO 8601 time, or null when it is none. */
export function epochMsOf(iso: string): number | null {
  const time: unknown = PARSE_TIME({ context: { iso } })
  return typeof time === 'bigint' ? Number(time) : null
}

const PARSE_TIME = CEL.parse('(timestamp(context.iso) - timestamp("1970-01-01T00:00:00Z")).getMilliseconds()')
