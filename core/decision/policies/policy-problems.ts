import type { LineCounter } from 'yaml'
import { ChaperoneError } from '../../errors.ts'
import { fieldPath } from '../../field-path.ts'
import { type Problem, problemText } from '../../problem.ts'

const MAX_PROBLEMS = 20

/** Returns the line of a field in the text; null for a document that was not parsed from a text. */
export type LineOf = (path: readonly PropertyKey[]) => number | null

export function fieldProblem(path: readonly PropertyKey[], message: string, lineOf: LineOf): Problem {
  const line = lineOf(path)
  if (path.length === 0) return { code: 'field', field: null, line, message: `policy: ${message}` }
  return { code: 'field', field: fieldPath(path), line, message }
}

export function yamlProblem(error: { pos: [number, number]; message: string }, lines: LineCounter): Problem {
  const [firstLine = error.message] = error.message.split('\n')
  const message = firstLine.replace(/ at line \d+, column \d+:?$/, '')
  return { code: 'text', field: null, line: lines.linePos(error.pos[0]).line, message }
}

export function invalidText(message: string, line: number | null = null): ChaperoneError {
  return invalid([{ code: 'text', field: null, line, message }])
}

/**
 * Returns a validation error with the first problems only, because a text that is not a policy may cause thousands of
 * problems.
 */
export function invalid(found: readonly Problem[]): ChaperoneError {
  const left = found.length - MAX_PROBLEMS
  const omitted: Problem = { code: 'omitted', field: null, line: null, message: `and ${left} more` }
  const problems = [...found.slice(0, MAX_PROBLEMS), ...(left > 0 ? [omitted] : [])]
  return new ChaperoneError('validation', { detail: problems.map(problemText).join('; '), problems })
}
