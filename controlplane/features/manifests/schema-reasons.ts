import type * as z from 'zod'

const MAX_REASONS = 20

/** Returns the errors of a `spec` by field, at most 20. */
export function schemaReasons({ issues }: z.ZodError): readonly string[] {
  const reasons = issues.map(({ path, message }) => `${['spec', ...path].join('.')}: ${message}`)
  const left = reasons.length - MAX_REASONS
  return left > 0 ? [...reasons.slice(0, MAX_REASONS), `and ${left} more`] : reasons
}
