import { failureReason } from './failure-reason.ts'
import { systemErrorCode } from './system-error-code.ts'

/** Message of a program that cannot start, for its parent process. `code`: code of a system error, such as `EADDRINUSE`. */
export type FatalMessage = { readonly type: 'fatal'; readonly message: string; readonly code: string | null }

export function fatalMessage(error: unknown): FatalMessage {
  return { type: 'fatal', message: failureReason(error), code: systemErrorCode(error) }
}
