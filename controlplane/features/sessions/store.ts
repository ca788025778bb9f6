import type { Query } from '../../db/query.ts'
import { identityStateSql } from '../oidc/rows.ts'
import { SESSION_LIFE, type SessionUser } from './rows.ts'

export const SESSION_MAX_AGE_S = SESSION_LIFE.totalHours * 3_600

export type NewSession = {
  readonly idHash: Buffer
  readonly userId: string
  readonly pageSecretHash: Buffer | null
}

export async function insertSession(q: Query, { idHash, userId, pageSecretHash }: NewSession): Promise<void> {
  await q.query(
    `insert into sessions (id_hash, user_id, page_secret_sha256, expires_at)
     values ($1, $2, $3, now() + make_interval(hours => $4))`,
    [idHash, userId, pageSecretHash, SESSION_LIFE.totalHours],
  )
}

/**
 * Returns the active users of those sessions in the list that are valid. Updates the last use of a session at most
 * once a minute.
 */
export async function useSessions(q: Query, idHashes: readonly Buffer[]): Promise<readonly SessionUser[]> {
  const { rows } = await q.query<SessionUser>(
    `with found as (
       select s.id_hash, s.page_secret_sha256, s.created_at, s.seen_at, u.id, u.email, u.role, u.groups,
         u.namespaces, u.lower_roles, ${identityStateSql('i')} as identity
       from sessions s join users u on u.id = s.user_id left join user_identities i on i.user_id = u.id
       where s.id_hash = any($1::bytea[]) and u.status = 'active' and s.expires_at > now()
         and s.seen_at > now() - make_interval(hours => $2)
     ), used as (
       update sessions set seen_at = now()
       where id_hash in (select id_hash from found where seen_at < now() - interval '1 minute')
     )
     select id, email, role, groups, namespaces, lower_roles as "lowerRoles", id_hash as "idHash", page_secret_sha256 as "pageSecretHash", identity
     from found order by created_at, id_hash`,
    [idHashes, SESSION_LIFE.idleHours],
  )
  return rows
}

export async function deleteSession(q: Query, idHash: Buffer): Promise<void> {
  await q.query('delete from sessions where id_hash = $1', [idHash])
}

export async function deleteSessionsOf(q: Query, userId: string): Promise<void> {
  await q.query('delete from sessions where user_id = $1', [userId])
}
