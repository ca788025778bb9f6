/** Returns the `error` and `message` of a JSON body as one line. Other text is returned unchanged. */
export function refusalText(body: string): string {
  const { error, message } = parsed(body)
  if (typeof message !== 'string') return typeof error === 'string' ? error : body
  return typeof error !== 'string' || error === message ? message : `${error}: ${message}`
}

function parsed(body: string): { readonly error?: unknown; readonly message?: unknown } {
  if (!body.startsWith('{')) return {}
  const value: unknown = JSON.parse(body)
  return typeof value === 'object' && value !== null ? value : {}
}
