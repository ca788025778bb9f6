/**
 * Kinds of problems of a policy. `text`: too long or not one YAML document. `field`: unknown, missing or invalid field.
 * `condition`: does not compile. `record`: contradicts a field that is stored besides the text. `tests`: the tests are
 * too expensive. `omitted`: number of problems that are not listed.
 */
export const PROBLEM_CODES = ['text', 'field', 'condition', 'record', 'tests', 'omitted'] as const

export type Problem = {
  readonly code: (typeof PROBLEM_CODES)[number]
  /** Path of the field, as `rules.0.decision`; null for problems of the whole. */
  readonly field: string | null
  /** Line of the text, from 1; null without a line. */
  readonly line: number | null
  /** The problem without its field and line. */
  readonly message: string
}

/** Returns the problem with its field: `rules.0.decision: Invalid option`. */
export function fieldText({ field, message }: Problem): string {
  return field === null ? message : `${field}: ${message}`
}

/** Returns the problem with its line and field: `line 7: rules.0.decision: Invalid option`. */
export function problemText(problem: Problem): string {
  return problem.line === null ? fieldText(problem) : `line ${problem.line}: ${fieldText(problem)}`
}

/**
 * Returns the problem with its field in a manifest: `spec.rules.0.decision: Invalid option`. It has no line, because
 * lines refer to a generated or stored text, which the author of a manifest does not have.
 */
export function manifestText({ field, message }: Problem): string {
  return field === null ? message : `spec.${field}: ${message}`
}
