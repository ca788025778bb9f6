import type { Query } from '../../db/query.ts'
import { type IdentityState, identityStateSql } from '../oidc/rows.ts'
import type { UserRow } from '../users/rows.ts'

/** A session ends after 12 hours without a request, and 7 days after the sign-in at the latest. */
export const SESSION_LIFE = { idleHours: 12, totalHours: 7 * 24 } as const

export type SessionUser = Pick<UserRow, 'id' | 'email' | 'role' | 'groups' | 'namespaces' | 'lowerRoles'> & {
  readonly idHash: Buffer
  /** Hash of the page secret; null for the session of a client other than a dashboard page. */
  readonly pageSecretHash: Buffer | null
  readonly identity: IdentityState
}

/** Lists the valid sessions of active users, most recently used first. `idleS`: seconds since the last use. */
export async function listSessionsInForce(
  q: Query,
  limit: number,
): Promise<ReadonlyArray<SessionUser & { readonly idleS: number }>> {
  const { rows } = await q.query<SessionUser & { idleS: number }>(
    `select u.id, u.email, u.role, u.groups, u.namespaces, u.lower_roles as "lowerRoles", s.id_hash as "idHash",
       s.page_secret_sha256 as "pageSecretHash", ${identityStateSql('i')} as identity,
       extract(epoch from now() - s.seen_at)::float8 as "idleS"
     from sessions s join users u on u.id = s.user_id left join user_identities i on i.user_id = u.id
     where u.status = 'active' and s.expires_at > now() and s.seen_at > now() - make_interval(hours => $2)
     order by s.seen_at desc limit $1`,
    [limit, SESSION_LIFE.idleHours],
  )
  return rows
}
