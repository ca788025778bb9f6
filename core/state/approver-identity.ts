/** Who gave an answer, as far as two answers can be told apart. */
export type ApproverIdentity = {
  readonly id: string
  /** How they signed in: an account of this installation, or a token or client certificate of the cluster. */
  readonly way: 'account' | 'token' | 'certificate'
  /** Lower case; null where none is known. */
  readonly email: string | null
  /** The identity provider or the cluster vouches for the address. */
  readonly isEmailVerified: boolean
}

/**
 * Whether two answers are of one person: the same identity, or one address under several ways of signing in or several
 * authenticators of the cluster.
 */
export function isSameApprover(a: ApproverIdentity, b: ApproverIdentity): boolean {
  if (a.id === b.id) return true
  const areAccounts = a.way === 'account' && b.way === 'account'
  return !areAccounts && a.email !== null && a.email === b.email
}

/**
 * Whether two answers are surely of two people. Two identities of one way of signing in are; of different ways only where both
 * have a verified address, and not the same.
 */
export function areDistinctApprovers(a: ApproverIdentity, b: ApproverIdentity): boolean {
  if (isSameApprover(a, b)) return false
  return a.way === b.way || (isKnown(a) && isKnown(b))
}

function isKnown({ email, isEmailVerified }: ApproverIdentity): boolean {
  return email !== null && isEmailVerified
}
