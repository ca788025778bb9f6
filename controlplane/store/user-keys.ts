import type { Query } from './query.ts'
import type { SessionUser } from './sessions.ts'

export async function insertUserKey(
  q: Query,
  row: { readonly id: string; readonly userId: string; readonly prefix: string; readonly sha256: Buffer },
): Promise<void> {
  await q.query('insert into user_keys (id, user_id, prefix, sha256) values ($1, $2, $3, $4)', [
    row.id,
    row.userId,
    row.prefix,
    row.sha256,
  ])
}

/** Active users with a key of this prefix: compare the hash of each. */
export async function findUserKeys(
  q: Query,
  prefix: string,
): Promise<readonly (SessionUser & { readonly sha256: Buffer })[]> {
  const { rows } = await q.query<SessionUser & { sha256: Buffer }>(
    `select u.id, u.email, u.role, u.groups, k.sha256 from user_keys k join users u on u.id = k.user_id
     where k.prefix = $1 and u.status = 'active'`,
    [prefix],
  )
  return rows
}
