import type { ManifestEdit } from '../../../core/wire/policies.ts'

type ApiErrorOptions = ErrorOptions & { readonly edit?: ManifestEdit | null }

/** Error of an API call: a response other than 2xx, or no response (`status` 0). Pages show `message` to the user. */
export class ApiError extends Error {
  readonly status: number
  /**
   * Manifest change that the user must commit, because objects of the installation are edited in YAML and the edit
   * was refused; null for any other error.
   */
  readonly edit: ManifestEdit | null
  constructor(status: number, message: string, { edit = null, ...options }: ApiErrorOptions = {}) {
    super(message, options)
    this.status = status
    this.edit = edit
  }
}

export function asApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error
  return new ApiError(0, error instanceof Error ? error.message : String(error), { cause: error })
}
