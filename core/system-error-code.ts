/** Maximum depth of causes. The chain of causes may contain a cycle. */
const MAX_DEPTH = 5

/**
 * Returns the code of the system error among an error, its causes and the errors in an AggregateError, such as
 * `EADDRINUSE`; null if none of them is a system error. The system errors of Node have a `syscall`.
 */
export function systemErrorCode(error: unknown, depth = MAX_DEPTH): string | null {
  if (!(error instanceof Error) || depth < 0) return null
  if ('syscall' in error && 'code' in error && typeof error.code === 'string') return error.code
  const inner = error instanceof AggregateError && Array.isArray(error.errors) ? error.errors : []
  for (const one of [error.cause, ...inner]) {
    const code = systemErrorCode(one, depth - 1)
    if (code !== null) return code
  }
  return null
}
