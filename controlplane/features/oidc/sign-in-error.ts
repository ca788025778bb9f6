import type { SignInErrorCode } from '../../../core/wire/access/sign-in.ts'

/** A sign-in through the identity provider failed; the page has a sentence for each code, the log has the cause. */
export class SignInError extends Error {
  override readonly name = 'SignInError'
  readonly code: SignInErrorCode

  constructor(code: SignInErrorCode, cause?: unknown) {
    super(`sign-in failed: ${code}`, { cause })
    this.code = code
  }
}
