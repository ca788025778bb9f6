import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'

/** Metadata of an approver key. The secret of the key is not included. */
export type UserKeyRow = {
  readonly id: string
  readonly name: string | null
  readonly prefix: string
  readonly createdAt: Date
  readonly expiresAt: Date
  readonly lastUsedAt: Date | null
}

export type UserKeyInput = Pick<UserKeyRow, 'id' | 'name' | 'prefix'> & {
  readonly userId: string
  readonly sha256: Buffer
  readonly days: number
}

const COLUMNS = `id, name, prefix, created_at as "createdAt", expires_at as "expiresAt", last_used_at as "lastUsedAt"`

export async function insertUserKey(q: Query, row: UserKeyInput): Promise<UserKeyRow> {
  const { rows } = await q.query<UserKeyRow>(
    `insert into approver_keys (id, user_id, name, prefix, sha256, expires_at)
     values ($1, $2, $3, $4, $5, now() + make_interval(days => $6)) returning ${COLUMNS}`,
    [row.id, row.userId, row.name, row.prefix, row.sha256, row.days],
  )
  return onlyRow(rows)
}

/** Lists the keys of a user, newest first. Expired keys are included. */
export async function listUserKeys(q: Query, userId: string): Promise<readonly UserKeyRow[]> {
  const { rows } = await q.query<UserKeyRow>(
    `select ${COLUMNS} from approver_keys where user_id = $1 order by created_at desc, id`,
    [userId],
  )
  return rows
}

/** Deletes the key. Returns undefined when the user has no key with this id. */
export async function deleteUserKey(
  q: Query,
  key: { readonly id: string; readonly userId: string },
): Promise<UserKeyRow | undefined> {
  const { rows } = await q.query<UserKeyRow>(
    `delete from approver_keys where id = $1 and user_id = $2 returning ${COLUMNS}`,
    [key.id, key.userId],
  )
  return rows[0]
}

export async function deleteUserKeysOf(q: Query, userId: string): Promise<readonly UserKeyRow[]> {
  const { rows } = await q.query<UserKeyRow>(
    `delete from approver_keys where user_id = $1 returning ${COLUMNS}`,
    [userId],
  )
  return rows
}

export async function deleteExpiredUserKeys(q: Query, userId: string): Promise<void> {
  await q.query('delete from approver_keys where user_id = $1 and expires_at <= now()', [userId])
}
