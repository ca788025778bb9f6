import { failureReason } from './failure-reason.ts'
import { systemErrorCode } from './system-error-code.ts'

/**
 * Message by which a program reports to its parent process that it cannot start. `code` is the code of a system error,
 * such as `EADDRINUSE`.
 */
export type FatalMessage = { readonly type: 'fatal'; readonly message: string; readonly code: string | null }

export function fatalMessage(error: unknown): FatalMessage {
  return { type: 'fatal', message: failureReason(error), code: systemErrorCode(error) }
}
