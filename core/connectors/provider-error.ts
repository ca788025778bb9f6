import type { ErrorObject } from './event-format.ts'

/** A refusal in the product's own format: text, status and body `{error, message, …}`. */
export type RefusalFacts = { readonly text: string; readonly status: number; readonly body: ErrorObject }

/** Formats refusals like the errors of a provider, so that its SDKs can show them. */
export type ProviderError = {
  /**
   * True if the provider's SDKs show the reason of a refusal only in this format. Connectors that are created in the
   * dashboard then use it by default.
   */
  readonly isNeededBySdks: boolean
  /**
   * Returns the error body in the provider's format, and the HTTP status if the provider reports errors with another
   * status.
   */
  format(refusal: RefusalFacts): { readonly status?: number; readonly value: ErrorObject }
}

export const CODEHOST_ERROR: ProviderError = {
  isNeededBySdks: false,
  format: ({ text, status, body }) => ({ value: { ...body, message: text, status: String(status) } }),
}

export const LLM_A_ERROR: ProviderError = {
  isNeededBySdks: true,
  format: ({ text, status }) => ({
    value: { error: { message: text, type: openAiType(status), param: null, code: 'chaperone_refused' } },
  }),
}

export const LLM_B_ERROR: ProviderError = {
  isNeededBySdks: true,
  format: ({ text, status, body }) => ({
    value: {
      type: 'error',
      error: { type: anthropicType(status), message: text },
      request_id: body['request_id'],
    },
  }),
}

export const LLM_C_ERROR: ProviderError = {
  isNeededBySdks: true,
  format: ({ text, status, body }) => ({
    value: {
      error: { code: status, message: text, status: googleStatus(status), details: googleDetails(body) },
    },
  }),
}

export const PAYMENTS_ERROR: ProviderError = {
  isNeededBySdks: true,
  format: ({ text }) => ({
    value: { error: { type: 'invalid_request_error', message: text, code: 'chaperone_refused' } },
  }),
}

/**
 * Slack reports errors with status 200 and `ok: false`, and its SDKs hide the text of an error with another status.
 * Only denials (403) get status 200. Retryable errors keep their status, because the Retry-After header requires it.
 */
export const CHAT_ERROR: ProviderError = {
  isNeededBySdks: true,
  format: ({ text, status, body }) => ({
    ...(status === 403 ? { status: 200 } : {}),
    value: { ok: false, error: text, request_id: body['request_id'] },
  }),
}

function openAiType(status: number): string {
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'server_error' : 'invalid_request_error'
}

function anthropicType(status: number): string {
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status >= 500 ? 'api_error' : 'invalid_request_error'
}

/** Names of `google.rpc.Code` by the HTTP status of a refusal. */
const GOOGLE_STATUS: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  409: 'ABORTED',
  429: 'RESOURCE_EXHAUSTED',
  500: 'INTERNAL',
  504: 'DEADLINE_EXCEEDED',
}

function googleStatus(status: number): string {
  return GOOGLE_STATUS[status] ?? (status >= 500 ? 'UNAVAILABLE' : 'FAILED_PRECONDITION')
}

/** Returns the retry delay and the request id as `details`: Google SDKs read the delay from the body. */
function googleDetails({ retry_after: seconds, request_id: id }: ErrorObject): readonly unknown[] {
  const type = 'type.googleapis.com/google.rpc'
  return [
    { '@type': `${type}.ErrorInfo`, reason: 'CHAPERONE_REFUSED', domain: 'chaperone' },
    ...(typeof id === 'string' ? [{ '@type': `${type}.RequestInfo`, requestId: id }] : []),
    ...(typeof seconds === 'number' ? [{ '@type': `${type}.RetryInfo`, retryDelay: `${seconds}s` }] : []),
  ]
}
