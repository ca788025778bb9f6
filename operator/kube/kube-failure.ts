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

/** Maps an error response of the API server to an error code. */
export function kubeFailure(status: number, body: string, retryAfter?: string): ChaperoneError {
  const retryAfterS = secondsOf(retryAfter)
  return new ChaperoneError(CODES[status] ?? 'not_ready', {
    detail: `The API server answered ${status}: ${messageOf(body)}`,
    ...(retryAfterS === undefined ? {} : { retryAfterS }),
  })
}

/** Returns the error for a network failure or a timeout. */
export function unreachable(what: string, cause: unknown): ChaperoneError {
  return new ChaperoneError('not_ready', { detail: `The API server cannot be reached: ${what}`, cause })
}

export function hasCode(error: unknown, code: ErrorCode): boolean {
  return error instanceof ChaperoneError && error.code === code
}

/** Returns the Retry-After of an error response in milliseconds; null without the header, and for other errors. */
export function retryAfterMs(error: unknown): number | null {
  const seconds = error instanceof ChaperoneError ? error.options.retryAfterS : undefined
  return seconds === undefined ? null : seconds * 1_000
}

function messageOf(body: string): string {
  try {
    const { message, reason } = JSON.parse(body) as { message?: unknown; reason?: unknown }
    if (typeof message === 'string') return message.slice(0, 2_000)
    if (typeof reason === 'string') return reason
  } catch {
    // The body is no Status object when the response comes from a proxy in front of the API server.
  }
  return body.slice(0, 500)
}

function secondsOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,6}$/.test(header) ? Number(header) : undefined
}
