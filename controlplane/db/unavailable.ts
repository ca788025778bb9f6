import { ChaperoneError } from '../../core/errors.ts'

/** Of the network, and of PostgreSQL: shutting down, starting, recovering, out of connections. */
const CODES = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|57P0[1-3]|53300|08\w{3})$/
/** The driver has no codes for these. */
const MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect)/

/** Nothing was sent: nobody listened there, or the server took nobody on. */
const NOT_SENT = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|57P0[23]|53300|08001|08004)$/
const NOT_CONNECTED = /^timeout exceeded when trying to connect/

/** A database that is away is no fault of the request: 503, send it again. Everything else stays what it is. */
export function unlessUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ChaperoneError) return error
  const code = 'code' in error ? String(error.code) : ''
  if (!CODES.test(code) && !MESSAGES.test(error.message)) return error
  return new ChaperoneError('not_ready', {
    error: 'Database unavailable',
    detail:
      'The database does not answer right now, so nothing can be said to be done: send it again in a moment',
    retryAfterS: 1,
    cause: error,
  })
}

/** The database went away after a statement was sent and before its answer came: what it says may be done or not. */
export function isAnswerLost(error: unknown): boolean {
  if (!isUnavailable(error) || !(error.cause instanceof Error)) return false
  const { cause } = error
  return !NOT_SENT.test('code' in cause ? String(cause.code) : '') && !NOT_CONNECTED.test(cause.message)
}

export function isUnavailable(error: unknown): error is ChaperoneError {
  return error instanceof ChaperoneError && error.code === 'not_ready'
}
