import type { Problem } from './problem.ts'

/**
 * All errors with their code, HTTP status and `error` text. Each process converts a ChaperoneError to a response in one
 * place. The body of a response with status 500 never contains `detail`.
 */
export const ERRORS = {
  validation: { status: 400, error: 'Validation failed' },
  ambiguous_request: { status: 400, error: 'ambiguous request' },
  malformed_request: { status: 400, error: 'malformed request' },
  unauthorized: { status: 401, error: 'Unauthorized' },
  forbidden: { status: 403, error: 'Forbidden' },
  denied: { status: 403, error: 'denied' },
  kill_switch: { status: 403, error: 'Kill switch active' },
  approval_denied: { status: 403, error: 'approval denied' },
  approval_expired: { status: 403, error: 'approval expired' },
  approval_void: { status: 403, error: 'approval void' },
  approval_pending: { status: 403, error: 'approval pending' },
  not_found: { status: 404, error: 'Not found' },
  method_not_allowed: { status: 405, error: 'method not allowed' },
  proxy_auth_required: { status: 407, error: 'proxy authentication required' },
  conflict: { status: 409, error: 'Conflict' },
  gone: { status: 410, error: 'Gone' },
  body_too_large: { status: 413, error: 'body too large' },
  too_many_actions: { status: 413, error: 'too many actions' },
  unsupported_body: { status: 415, error: 'unsupported body' },
  misdirected: { status: 421, error: 'misdirected request' },
  upgrade_refused: { status: 426, error: 'WebSocket not served' },
  rate_limited: { status: 429, error: 'rate limit exceeded' },
  too_many_holds: { status: 429, error: 'too many pending approvals' },
  headers_too_large: { status: 431, error: 'request header fields too large' },
  internal: { status: 500, error: 'Internal error' },
  upstream_failed: { status: 502, error: 'upstream failed' },
  address_refused: { status: 502, error: 'upstream address refused' },
  upstream_tls: { status: 502, error: 'upstream TLS check failed' },
  not_ready: { status: 503, error: 'not ready' },
  overloaded: { status: 503, error: 'overloaded' },
  journal_unavailable: { status: 503, error: 'journal unavailable' },
  lease_expired: { status: 503, error: 'control plane lost' },
  upstream_timeout: { status: 504, error: 'upstream timeout' },
} as const satisfies Record<string, { status: number; error: string }>

export type ErrorCode = keyof typeof ERRORS

/**
 * Options of a ChaperoneError. `detail` states how to correct the request, `retryAfterS` is in whole seconds, and
 * `extra` contains additional members of the response body.
 */
export type ErrorOptions = {
  readonly detail?: string
  /** Problems that `detail` lists, for clients that process them one by one. */
  readonly problems?: readonly Problem[]
  readonly error?: string
  readonly retryAfterS?: number
  readonly extra?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

export class ChaperoneError extends Error {
  override readonly name = 'ChaperoneError'
  readonly code: ErrorCode
  readonly options: ErrorOptions

  constructor(code: ErrorCode, options: ErrorOptions = {}) {
    super(options.detail ?? options.error ?? ERRORS[code].error, { cause: options.cause })
    this.code = code
    this.options = options
  }

  get status(): number {
    return ERRORS[this.code].status
  }
}

/**
 * Returns the JSON body for an error: `{error, message, retry_after, ...extra}`, with `retry_after` in seconds if it is
 * set. `message` is the detail, except for status 500, where it repeats `error`.
 */
export function errorBody(failure: ChaperoneError): Record<string, unknown> {
  const { options, status } = failure
  const error = options.error ?? ERRORS[failure.code].error
  const message =
    status >= 500 && status !== 502 && status !== 503 && status !== 504 ? error : failure.message
  const retry = options.retryAfterS === undefined ? {} : { retry_after: options.retryAfterS }
  return { error, message, ...retry, ...options.extra }
}
