import type { Query } from '../../db/query.ts'
import type { UserIdentity } from './identity-store.ts'

/** Seconds for which a confirmation by the identity provider is valid. */
export const CONFIRMED_S = 300

export const COLUMNS = `user_id as "userId", issuer, subject, tokens, email_verified as "isEmailVerified"`

export async function findIdentityOf(q: Query, userId: string): Promise<UserIdentity | undefined> {
  const { rows } = await q.query<UserIdentity>(`select ${COLUMNS} from user_identities where user_id = $1`, [
    userId,
  ])
  return rows[0]
}

/**
 * State of a user at the identity provider. `none`: the user has a password and no identity at the provider. `stale`:
 * the last confirmation is too old. `ended`: the provider no longer confirms the user.
 */
export type IdentityState = 'none' | 'confirmed' | 'stale' | 'ended'

/**
 * Returns a SQL expression for the IdentityState of a row of `user_identities`. The row may be the result of a left
 * join and then contain only nulls.
 */
export function identityStateSql(alias: string): string {
  return `case when ${alias}.user_id is null then 'none' when ${alias}.tokens is null then 'ended'
    when ${alias}.checked_at > now() - interval '${CONFIRMED_S} seconds' then 'confirmed' else 'stale' end`
}

export async function identityState(q: Query, userId: string): Promise<IdentityState> {
  const { rows } = await q.query<{ state: IdentityState }>(
    `select ${identityStateSql('i')} as state from user_identities i where user_id = $1`,
    [userId],
  )
  return rows[0]?.state ?? 'none'
}
