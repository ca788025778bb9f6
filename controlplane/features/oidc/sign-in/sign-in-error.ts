import type { SignInErrorCode } from '../../../../core/wire/access/sign-in.ts'

/**
 * Failure of a sign-in through the identity provider. The sign-in page has a message for each code; the log contains
 * the cause.
 */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly code: SignInErrorCode

  constructor(code: SignInErrorCode, cause?: unknown) {
    super(`sign-in failed: ${code}`, { cause })
    this.code = code
  }
}
