/**
 * What a failure says, never an empty text: the message, what its causes and its parts add, else its code or name. A
 * connection that is refused on every address of a name is an AggregateError without a message of its own.
 */
export function failureReason(error: unknown): string {
  return reasons(error, MAX_DEPTH).join(': ') || 'an error without a message'
}

/** Causes may form a circle. */
const MAX_DEPTH = 5

function reasons(error: unknown, depth: number): readonly string[] {
  if (!(error instanceof Error))
    return [typeof error === 'string' ? error.trim() : textOf(error)].filter(Boolean)
  const parts = error instanceof AggregateError && depth > 0 ? partsOf(error, depth) : []
  const own = error.message.trim() || (parts.length > 0 ? '' : codeOf(error))
  const causes = error.cause === undefined || depth === 0 ? [] : reasons(error.cause, depth - 1)
  const all = [own, ...parts, ...causes].filter(Boolean)
  // Many wrappers repeat the message of their cause.
  return all.filter((one, at) => !all.slice(0, at).some((before) => before.includes(one)))
}

function partsOf({ errors }: AggregateError, depth: number): readonly string[] {
  const all = errors.map((one) => reasons(one, depth - 1).join(': '))
  return [...new Set(all)].filter(Boolean)
}

function codeOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code || error.name
}

function textOf(thrown: unknown): string {
  if (thrown === undefined || thrown === null) return `${thrown} was thrown`
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return Object.prototype.toString.call(thrown)
  }
}
