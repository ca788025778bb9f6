/** Reasons why a sign-in through the identity provider failed, as in the redirect URL to the sign-in page. */
const SIGN_IN_ERROR_CODES = [
  'expired',
  'other_browser',
  'refused',
  'invalid_answer',
  'unreachable',
  'no_email',
  'no_access',
  'too_many_groups',
  'suspended',
  'account_exists',
] as const

export type SignInErrorCode = (typeof SIGN_IN_ERROR_CODES)[number]
