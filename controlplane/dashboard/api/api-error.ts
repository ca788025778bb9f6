import type { PolicyCheckReply, ReplayReply } from '../../../core/wire/governance.ts'

export type ManifestEdit = {
  /** YAML documents; empty when nothing is to be added or changed. */
  readonly manifest: string
  readonly removed: ReadonlyArray<{
    readonly kind: string
    readonly namespace: string
    readonly name: string
  }>
  /** Of each policy that was edited. */
  readonly tests: ReadonlyArray<{ readonly policy: string; readonly tests: PolicyCheckReply['tests'] }>
  /** What the edit of a policy would change in recent requests; null where that is not known. */
  readonly replay: ReplayReply | null
}
type ApiErrorOptions = ErrorOptions & { readonly edit?: ManifestEdit | null }

/** An answer other than 2xx, or none (`status` 0); `message` is a sentence for people. */
export class ApiError extends Error {
  readonly status: number
  /** What to commit in place of the edit, where objects are edited in YAML; null for any other error. */
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
