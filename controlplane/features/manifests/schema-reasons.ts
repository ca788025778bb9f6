import { type FieldProblem, fieldProblemText } from '../../../core/schema/parse-fields.ts'

const MAX_REASONS = 20

/** Returns the texts of the problems of a manifest, each with the path of its field, at most 20. */
export function schemaReasons(problems: readonly FieldProblem[]): readonly string[] {
  const reasons = problems.map((problem) => fieldProblemText(problem, 'spec'))
  const left = reasons.length - MAX_REASONS
  return left > 0 ? [...reasons.slice(0, MAX_REASONS), `and ${left} more`] : reasons
}
