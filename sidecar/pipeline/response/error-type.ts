/** Returns the error type for metrics: `401`, `429`, or `500` for any 5xx. Returns null for other statuses. */
export function errorTypeOf(status: number): string | null {
  if (status === 401 || status === 429) return String(status)
  return status >= 500 ? '500' : null
}
