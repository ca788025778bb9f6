import { ChaperoneError, type ErrorCode } from '../../core/errors.ts'

const CODES: Readonly<Record<number, ErrorCode>> = {
  400: 'validation',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  409: 'conflict',
  410: 'gone',
  422: 'validation',
  429: 'rate_limited',
}

/** An answer of the API server that is no success, as the error with the code that callers look at. */
export function kubeFailure(status: number, body: string, retryAfter?: string): ChaperoneError {
  const retryAfterS = seconds(retryAfter)
  return new ChaperoneError(CODES[status] ?? 'not_ready', {
    detail: `the API server answered ${status}: ${messageOf(body)}`,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  })
}

/** The API server was not reached, or did not answer in time. */
export function unreachable(what: string, cause: unknown): ChaperoneError {
  return new ChaperoneError('not_ready', { detail: `the API server was not reached: ${what}`, cause })
}

export function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ChaperoneError && error.code === code
}

/** Milliseconds that the API server asked to wait; null when it did not. */
export function retryAfterMs(error: unknown): number | null {
  const asked = error instanceof ChaperoneError ? error.options.retryAfterS : undefined
  return asked === undefined ? null : asked * 1_000
}

function messageOf(body: string): string {
  try {
    const { message, reason } = JSON.parse(body) as { message?: unknown; reason?: unknown }
    if (typeof message === 'string') return message.slice(0, 2_000)
    if (typeof reason === 'string') return reason
  } catch {
    // Not a Status object: a proxy in between answers in its own words.
  }
  return body.slice(0, 500)
}

function seconds(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : undefined
}
