import type { Query } from './query.ts'
import type { UserRow } from './users.ts'

/** A session ends after 12 hours without a request, and after 7 days in any case. */
export const SESSION_LIFE = { idleHours: 12, totalHours: 7 * 24 } as const
export const SESSION_MAX_AGE_S = SESSION_LIFE.totalHours * 3_600

export type SessionUser = Pick<UserRow, 'id' | 'email' | 'role' | 'groups'>

export async function insertSession(q: Query, idHash: Buffer, userId: string): Promise<void> {
  await q.query(
    'insert into sessions (id_hash, user_id, expires_at) values ($1, $2, now() + make_interval(hours => $3))',
    [idHash, userId, SESSION_LIFE.totalHours],
  )
}

/** The active user of a living session; notes at most once a minute that it was used. */
export async function useSession(q: Query, idHash: Buffer): Promise<SessionUser | undefined> {
  const { rows } = await q.query<SessionUser>(
    `with found as (
       select s.id_hash, s.seen_at, u.id, u.email, u.role, u.groups
       from sessions s join users u on u.id = s.user_id
       where s.id_hash = $1 and u.status = 'active' and s.expires_at > now()
         and s.seen_at > now() - make_interval(hours => $2)
     ), used as (
       update sessions set seen_at = now()
       where id_hash in (select id_hash from found where seen_at < now() - interval '1 minute')
     )
     select id, email, role, groups from found`,
    [idHash, SESSION_LIFE.idleHours],
  )
  return rows[0]
}

export async function deleteSession(q: Query, idHash: Buffer): Promise<void> {
  await q.query('delete from sessions where id_hash = $1', [idHash])
}

export async function deleteSessionsOf(q: Query, userId: string): Promise<void> {
  await q.query('delete from sessions where user_id = $1', [userId])
}
