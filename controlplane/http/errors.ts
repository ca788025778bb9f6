import { ChaperoneError, type ErrorCode } from '../../core/errors.ts'

/** What the framework, the JSON parser and the database throw, as one of our own codes. */
const KNOWN: Readonly<Record<string, { readonly code: ErrorCode; readonly detail: string }>> = {
  FST_ERR_CTP_BODY_TOO_LARGE: {
    code: 'body_too_large',
    detail: 'The body is larger than this endpoint accepts',
  },
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: {
    code: 'malformed_request',
    detail: 'The body does not have the length that Content-Length says',
  },
  FST_ERR_CTP_INVALID_MEDIA_TYPE: {
    code: 'unsupported_body',
    detail: 'Send the body as JSON with Content-Type: application/json',
  },
  FST_ERR_BAD_URL: {
    code: 'malformed_request',
    detail: 'The path has a percent escape that is no character',
  },
  FST_ERR_MAX_PARAM_LENGTH: { code: 'malformed_request', detail: 'A part of the path is too long' },
  // PostgreSQL: unique_violation. Services name the field themselves; this catches the race between two of them.
  '23505': {
    code: 'conflict',
    detail: 'Something with this name exists already: choose another name or change that one',
  },
}

/** Anything thrown while answering a request, as the one kind of error that has a status and a body. */
export function asChaperoneError(error: unknown): ChaperoneError {
  if (error instanceof ChaperoneError) return error
  const known = KNOWN[codeOf(error)]
  if (known !== undefined) return new ChaperoneError(known.code, { detail: known.detail, cause: error })
  if (isClientError(error)) {
    return new ChaperoneError('malformed_request', { detail: 'The request could not be read', cause: error })
  }
  return new ChaperoneError('internal', { cause: error })
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : ''
}

function isClientError(error: unknown): boolean {
  return error instanceof Error && 'statusCode' in error && Number(error.statusCode) === 400
}
