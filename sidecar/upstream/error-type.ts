/** `401 | 429 | 500` (any 5xx) for the metrics, else null. */
export function errorTypeOf(status: number): string | null {
  if (status === 401 || status === 429) return String(status)
  return status >= 500 ? '500' : null
}
