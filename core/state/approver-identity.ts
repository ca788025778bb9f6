/** Facts about an approver that determine whether two answers are of the same user. */
export type ApproverIdentity = {
  readonly id: string
  /** Sign-in method: an account of this installation, or a token or client certificate of the cluster. */
  readonly way: 'account' | 'token' | 'certificate'
  /** Email address in lower case; null if unknown. */
  readonly email: string | null
  /** True if the identity provider or the cluster verified the email address. */
  readonly isEmailVerified: boolean
}

/**
 * Reports whether two answers are of the same approver: the identities are equal, or one email address occurs under
 * several sign-in methods or several authenticators of the cluster.
 */
export function isSameApprover(a: ApproverIdentity, b: ApproverIdentity): boolean {
  if (a.id === b.id) return true
  const areAccounts = a.way === 'account' && b.way === 'account'
  return !areAccounts && a.email !== null && a.email === b.email
}

/**
 * Reports whether two answers are certainly of different approvers. Two identities with the same sign-in method are
 * certainly different. With different methods, both email addresses must be verified and must differ.
 */
export function areDistinctApprovers(a: ApproverIdentity, b: ApproverIdentity): boolean {
  if (isSameApprover(a, b)) return false
  return a.way === b.way || (isKnown(a) && isKnown(b))
}

function isKnown({ email, isEmailVerified }: ApproverIdentity): boolean {
  return email !== null && isEmailVerified
}
