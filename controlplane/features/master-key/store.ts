import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import type { SealedColumn } from '../../db/sealed-columns.ts'
import type { ReplicaKeys } from './rows.ts'

/** Serialises changes of the table `master_keys` until this transaction ends. */
export async function lockMasterKeys(q: Query): Promise<void> {
  await q.query(`select pg_advisory_xact_lock(hashtext('chaperone master keys'))`)
}

/** Stores the id of a key that encrypts new secrets from now on. */
export async function insertMasterKey(
  q: Query,
  keyId: string,
  { isComplete }: { readonly isComplete: boolean },
): Promise<void> {
  await q.query(
    `insert into master_keys (key_id, number, completed_at)
     select $1, coalesce(max(number), 0) + 1, case when $2 then clock_timestamp() end from master_keys`,
    [keyId, isComplete],
  )
}

/**
 * Stores that the rotation to a key has ended. Returns the number of values that the rotation encrypted again; null
 * if this end was already stored.
 */
export async function completeMasterKey(q: Query, keyId: string): Promise<number | null> {
  const { rows } = await q.query<{ rewrapped: string }>(
    `update master_keys set completed_at = clock_timestamp() where key_id = $1 and completed_at is null
     returning rewrapped`,
    [keyId],
  )
  return rows[0] === undefined ? null : Number(rows[0].rewrapped)
}

export async function addRewrapped(q: Query, keyId: string, count: number): Promise<void> {
  await q.query('update master_keys set rewrapped = rewrapped + $2 where key_id = $1', [keyId, count])
}

export async function reportReplicaKeys(
  q: Query,
  { replicaId, keyIds, sealingId }: ReplicaKeys,
): Promise<void> {
  await q.query(
    `insert into replica_keys (replica_id, key_ids, sealing_id) values ($1, $2, $3)
     on conflict (replica_id) do update
       set key_ids = excluded.key_ids, sealing_id = excluded.sealing_id, seen_at = clock_timestamp()`,
    [replicaId, keyIds, sealingId],
  )
}

/**
 * Deletes the report of the replica and all reports that are older than an hour. When `replicaId` is null, deletes
 * all reports.
 */
export async function deleteReplicaKeys(q: Query, replicaId: string | null): Promise<void> {
  await q.query(
    `delete from replica_keys where $1::text is null or replica_id = $1 or seen_at < clock_timestamp() - interval '1 hour'`,
    [replicaId],
  )
}

export type SealedRow = {
  /** Values of the primary key, in the order of its columns. */
  readonly key: readonly string[]
  readonly sealed: Sealed
}

/** Lists values that are encrypted with another key than `keyId`, in the order of the primary key. */
export async function listOtherSealed(
  q: Query,
  { table, key, value }: SealedColumn,
  page: { readonly keyId: string; readonly after: readonly string[] | null; readonly limit: number },
): Promise<readonly SealedRow[]> {
  const names = key.join(', ')
  const parameters = key.map((_name, index) => `$${index + 3}`).join(', ')
  const later = page.after === null ? '' : `and (${names}) > (${parameters})`
  const { rows } = await q.query<SealedRow>(
    `select array[${names}]::text[] as key, ${value} as sealed from ${table}
     where ${value}->>'key_id' <> $1 ${later} order by ${names} limit $2`,
    [page.keyId, page.limit, ...(page.after ?? [])],
  )
  return rows
}

/**
 * Replaces an encrypted value unless the value has changed since it was read. Returns whether the value was replaced.
 */
export async function replaceSealed(
  q: Query,
  { table, key, value, assignment }: SealedColumn,
  { row, sealed }: { readonly row: SealedRow; readonly sealed: Sealed },
): Promise<boolean> {
  const here = key.map((name, index) => `${name} = $${index + 3}`).join(' and ')
  const { rowCount } = await q.query(
    `update ${table} set ${assignment} where ${value} = $2::jsonb and ${here}`,
    [JSON.stringify(sealed), JSON.stringify(row.sealed), ...row.key],
  )
  return rowCount === 1
}
