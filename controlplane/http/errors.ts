import { ChaperoneError, type ErrorCode } from '../../core/errors.ts'

/** Error codes of the API by error code of the framework, the JSON parser or the database. */
const KNOWN: Readonly<Record<string, { readonly code: ErrorCode; readonly detail: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: {
    code: 'body_too_large',
    detail: 'The body is larger than the limit of this endpoint. Send a smaller body, or several requests.',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_request',
    detail:
      'The length of the body differs from Content-Length. Send the whole body, with its length in bytes.',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_body',
    detail: 'The body must be JSON with Content-Type: application/json.',
  },
  FST_ERR_BAD_URL: {
    code: 'malformed_request',
    detail: 'The path has an invalid percent-encoding. Write a literal % as %25.',
  },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'malformed_request', detail: 'A segment of the path is too long.' },
  // PostgreSQL `unique_violation`. Services check for duplicates before the insert, with an error that names the
  // field. Therefore, only concurrent requests cause this error.
  '23505': {
    code: 'conflict',
    detail: 'An object with this name exists already. Choose another name, or change the existing object.',
  },
}

/** Converts any error of a request to a `ChaperoneError`, which has a status and a response body. */
export function asChaperoneError(error: unknown): ChaperoneError {
  if (error instanceof ChaperoneError) return error
  const known = KNOWN[codeOf(error)]
  if (known !== undefined) return new ChaperoneError(known.code, { detail: known.detail, cause: error })
  if (isClientError(error)) {
    return new ChaperoneError('malformed_request', {
      detail: 'The request could not be parsed.',
      cause: error,
    })
  }
  return new ChaperoneError('internal', { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function isClientError(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && Number(error.statusCode) === 400
}
