/**
 * Kinds of problems of a policy. `text`: the text is too long or not one YAML document. `field`: a field is unknown,
 * missing or invalid. `condition`: a condition does not compile. `record`: the text contradicts a field that is stored
 * with the policy. `tests`: the tests are too expensive. `omitted`: further problems exist; the message states their
 * number.
 */
export const PROBLEM_CODES = ['text', 'field', 'condition', 'record', 'tests', 'omitted'] as const

export type Problem = {
  readonly code: (typeof PROBLEM_CODES)[number]
  /** Path of the field, such as `rules[0].decision`; null for a problem of the whole policy. */
  readonly field: string | null
  /** Line of the policy's text, counted from 1; null for a problem without a line. */
  readonly line: number | null
  /** Text of the problem without its field and line. */
  readonly message: string
}

/** Formats the problem with its field: `rules[0].decision: must be allow or deny`. */
export function fieldText({ field, message }: Problem): string {
  return field === null ? message : `${field}: ${message}`
}

/** Formats the problem with its line and field: `line 7: rules[0].decision: must be allow or deny`. */
export function problemText(problem: Problem): string {
  return problem.line === null ? fieldText(problem) : `line ${problem.line}: ${fieldText(problem)}`
}

/**
 * Formats the problem with its field in a manifest: `spec.rules[0].decision: must be allow or deny`. Omits the line,
 * because lines refer to a generated or stored text that the author of a manifest does not have.
 */
export function manifestText({ field, message }: Problem): string {
  return field === null ? message : `spec.${field}: ${message}`
}
