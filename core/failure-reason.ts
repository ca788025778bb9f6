/**
 * Returns the reason of a failure, never empty: the messages of the error, of the errors in an AggregateError and of
 * its causes; else its code or name. Node reports a connection that is refused on every address of a name as an
 * AggregateError without a message.
 */
export function failureReason(error: unknown): string {
  try {
    return reasons(error, MAX_DEPTH).join(': ') || NO_MESSAGE
  } catch {
    // A getter of the thrown value may throw.
    return NO_MESSAGE
  }
}

const NO_MESSAGE = 'an error without a message'

/** Maximum depth of causes. The chain of causes may contain a cycle. */
const MAX_DEPTH = 5

function reasons(error: unknown, depth: number): readonly string[] {
  if (!(error instanceof Error))
    return [typeof error === 'string' ? error.trim() : textOf(error)].filter(Boolean)
  const parts = error instanceof AggregateError && depth > 0 ? partsOf(error, depth) : []
  const own = messageOf(error) || (parts.length > 0 ? '' : codeOf(error))
  const causes = error.cause === undefined || depth === 0 ? [] : reasons(error.cause, depth - 1)
  const all = [own, ...parts, ...causes].filter(Boolean)
  // Many wrappers repeat the message of their cause, so messages that an earlier message contains are dropped.
  return all.filter((one, at) => !all.slice(0, at).some((before) => before.includes(one)))
}

/**
 * Returns the message of a failure as text. Some JavaScript libraries store objects in `message`, `name` and `errors`.
 */
function messageOf({ message }: { readonly message: unknown }): string {
  if (typeof message === 'string') return message.trim()
  return message === undefined || message === null ? '' : textOf(message)
}

function partsOf({ errors }: { readonly errors: unknown }, depth: number): readonly string[] {
  const all = (Array.isArray(errors) ? errors : [errors]).map((one) => reasons(one, depth - 1).join(': '))
  return [...new Set(all)].filter(Boolean)
}

function codeOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : ''
  return code || String(error.name)
}

function textOf(thrown: unknown): string {
  if (thrown === undefined || thrown === null) return `${thrown} was thrown`
  try {
    return JSON.stringify(thrown) ?? String(thrown)
  } catch {
    return Object.prototype.toString.call(thrown)
  }
}
