import { ChaperoneError } from '../../core/errors.ts'
import { sha256 } from '../crypto/tokens.ts'
import { type AttemptKey, countAttempt, forgetAttempts } from '../store/login-failures.ts'
import type { Db, Query } from '../store/query.ts'

/** Free attempts: from one address few, so that guessing is slow; in all many, so that nobody locks an owner out. */
const FREE_PER_ADDRESS = 5
const FREE_IN_ALL = 100

/** Whose password somebody says to know, and from where. */
export type Attempt = { readonly email: string; readonly address: string }

/** Counts an attempt before the password is looked at. Throws `rate_limited` with the seconds to wait. */
export async function countSignIn(db: Db, attempt: Attempt): Promise<void> {
  for (const key of keysOf(attempt)) {
    const waitS = await countAttempt(db, key)
    if (waitS === 0) continue
    throw new ChaperoneError('rate_limited', {
      error: 'Rate limit exceeded',
      detail: `Too many failed attempts to sign in: try again in ${waitS} s`,
      retryAfterS: waitS,
    })
  }
}

/** The password was right: those before it were slips. */
export async function forgetSignIns(q: Query, attempt: Attempt): Promise<void> {
  await forgetAttempts(
    q,
    keysOf(attempt).map((key) => key.hash),
  )
}

function keysOf({ email, address }: Attempt): readonly AttemptKey[] {
  const who = email.toLowerCase()
  return [
    { hash: sha256(`${who}\n${address}`), free: FREE_PER_ADDRESS },
    { hash: sha256(who), free: FREE_IN_ALL },
  ]
}
