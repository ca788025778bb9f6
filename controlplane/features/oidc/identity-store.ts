import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { COLUMNS, CONFIRMED_S } from './rows.ts'

/**
 * Seconds for which one replica may claim the confirmation of a user. After this time, another replica may claim the
 * confirmation.
 */
const CLAIM_S = 15

export type UserIdentity = {
  readonly userId: string
  readonly issuer: string
  readonly subject: string
  /**
   * Encrypted tokens of the provider, for later requests about the user. Null when the provider no longer confirms the
   * user.
   */
  readonly tokens: Sealed | null
  /** Whether the provider states that the stored e-mail address of the user is verified. */
  readonly isEmailVerified: boolean
}

export async function findIdentity(
  q: Query,
  { issuer, subject }: Pick<UserIdentity, 'issuer' | 'subject'>,
): Promise<UserIdentity | undefined> {
  const { rows } = await q.query<UserIdentity>(
    `select ${COLUMNS} from user_identities where issuer = $1 and subject = $2`,
    [issuer, subject],
  )
  return rows[0]
}

export async function deleteIdentity(q: Query, userId: string): Promise<void> {
  await q.query('delete from user_identities where user_id = $1', [userId])
}

/** Stores a confirmation by the provider (with `tokens`), or the end of the user's access (`tokens` is null). */
export async function saveIdentity(q: Query, row: UserIdentity): Promise<void> {
  await q.query(
    `insert into user_identities (user_id, issuer, subject, tokens, email_verified) values ($1, $2, $3, $4, $5)
     on conflict (user_id) do update
       set tokens = $4, email_verified = $5, checked_at = now(), claimed_until = null
       where user_identities.issuer = $2 and user_identities.subject = $3`,
    [
      ...[row.userId, row.issuer, row.subject],
      ...[row.tokens === null ? null : JSON.stringify(row.tokens), row.isEmailVerified],
    ],
  )
}

/**
 * Claims for this replica the confirmation of a user, and returns the identity of the user. Returns undefined when the
 * last confirmation is still valid or another replica holds the claim.
 */
export async function claimIdentity(q: Query, userId: string): Promise<UserIdentity | undefined> {
  const { rows } = await q.query<UserIdentity>(
    `update user_identities set claimed_until = now() + make_interval(secs => $3)
     where user_id = $1 and tokens is not null and checked_at <= now() - make_interval(secs => $2)
       and (claimed_until is null or claimed_until < now())
     returning ${COLUMNS}`,
    [userId, CONFIRMED_S, CLAIM_S],
  )
  return rows[0]
}

export async function releaseIdentity(q: Query, userId: string): Promise<void> {
  await q.query('update user_identities set claimed_until = null where user_id = $1', [userId])
}
