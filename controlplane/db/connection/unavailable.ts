import { ChaperoneError } from '../../../core/errors.ts'

/**
 * Error codes of an unavailable database: network errors, and errors of a PostgreSQL server that shuts down, starts,
 * recovers or has no free connection.
 */
const CODES = /^(ECONN\w+|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|57P0[1-3]|53300|08\w{3})$/
/** Messages of errors of the `pg` driver that have no code. */
const MESSAGES =
  /^(Connection terminated|Client has encountered a connection error|timeout exceeded when trying to connect|timeout expired|Query read timeout)/

/**
 * Error codes of a database that accepts no writes: `25006` means a read-only server (a standby after a failover),
 * `53100` a full disk. After such an error, the transaction has changed nothing.
 */
const NO_WRITES = /^(25006|53100)$/
const READ_ONLY = '25006'

/**
 * Error codes `lock_not_available` and `deadlock_detected`: another session has the locks, and the
 * transaction has changed nothing. Example: the partition of a new day cannot be created while an index is
 * built.
 */
const LOCK_CONFLICT = /^(55P03|40P01)$/

/** Error codes of a refused or failed connection. No statement was sent to the database. */
const NOT_SENT = /^(ECONNREFUSED|EHOSTUNREACH|ENETUNREACH|57P0[23]|53300|08001|08004)$/
const NOT_CONNECTED = /^(timeout exceeded when trying to connect|timeout expired)/

/** Converts the error of an unavailable database to 503 with a retry time. Returns any other error unchanged. */
export function unlessUnavailable(error: unknown): unknown {
  if (!(error instanceof Error) || error instanceof ChaperoneError) return error
  const code = codeOf(error)
  if (NO_WRITES.test(code)) return takesNoWrites(error)
  if (LOCK_CONFLICT.test(code)) return lockConflict(error)
  if (!CODES.test(code) && !MESSAGES.test(error.message)) return error
  return new ChaperoneError('not_ready', {
    error: 'Database unavailable',
    detail:
      'The database does not answer, so the outcome of the request is unknown. Send the request again in a moment.',
    retryAfterS: 1,
    cause: error,
  })
}

function takesNoWrites(cause: Error): ChaperoneError {
  const why =
    writeRefusal(cause) === 'read-only' ? 'The database is read-only' : 'The disk of the database is full'
  return new ChaperoneError('not_ready', {
    error: 'Database takes no writes',
    detail: `${why}, so nothing was changed. Send the request again once the database takes writes.`,
    retryAfterS: 5,
    cause,
  })
}

function lockConflict(cause: Error): ChaperoneError {
  return new ChaperoneError('not_ready', {
    error: 'Lock conflict in the database',
    detail:
      'Another session of the database has locked the same data, so nothing was changed. Send the request again.',
    retryAfterS: 1,
    cause,
  })
}

/** Returns whether a statement failed because of the locks of another session. */
export function isLockConflict(error: unknown): boolean {
  const cause = isUnavailable(error) ? error.cause : error
  return cause instanceof Error && LOCK_CONFLICT.test(codeOf(cause))
}

/** Returns why the server refused a write; null for an error with another cause. */
export function writeRefusal(error: unknown): 'read-only' | 'full disk' | null {
  if (!(error instanceof Error) || !NO_WRITES.test(codeOf(error))) return null
  return codeOf(error) === READ_ONLY ? 'read-only' : 'full disk'
}

function codeOf(error: Error): string {
  return 'code' in error ? String(error.code) : ''
}

/**
 * Returns whether the connection was lost between a statement and its answer. The database may have executed the
 * statement.
 */
export function isAnswerLost(error: unknown): boolean {
  if (!isUnavailable(error) || !(error.cause instanceof Error)) return false
  const { cause } = error
  const code = codeOf(cause)
  if (NO_WRITES.test(code) || LOCK_CONFLICT.test(code)) return false
  return !NOT_SENT.test(code) && !NOT_CONNECTED.test(cause.message)
}

export function isUnavailable(error: unknown): error is ChaperoneError {
  return error instanceof ChaperoneError && error.code === 'not_ready'
}
