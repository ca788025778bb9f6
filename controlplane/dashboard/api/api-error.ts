import type { PolicyCheckReply, ReplayReply } from '../../../core/wire/governance.ts'

export type ManifestEdit = {
  /** YAML documents; empty when nothing is added or changed. */
  readonly manifest: string
  readonly removed: ReadonlyArray<{
    readonly kind: string
    readonly namespace: string
    readonly name: string
  }>
  /** Test results of each edited policy. */
  readonly tests: ReadonlyArray<{ readonly policy: string; readonly tests: PolicyCheckReply['tests'] }>
  /** Decisions of recent requests that the edit of a policy would change; null if the replay could not run. */
  readonly replay: ReplayReply | null
}
type ApiErrorOptions = ErrorOptions & { readonly edit?: ManifestEdit | null }

/** A response other than 2xx, or no response (`status` 0). Pages show `message` to the user. */
export class ApiError extends Error {
  readonly status: number
  /** The change to commit instead, in installations whose objects are edited in YAML; null for any other error. */
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
