import { isLockConflict } from '../connection/unavailable.ts'
import type { Query } from '../query.ts'
import type { IndexMigration } from './migration-files.ts'

const LOCK_TIMEOUT = "set lock_timeout = '5s'"
const NO_LOCK_TIMEOUT = 'set lock_timeout = 0'
/** Maximum length of an identifier in PostgreSQL, in bytes. */
const MAX_NAME = 63

/**
 * Builds the index without blocking writes. Must run outside of a transaction. Returns true when the index is complete.
 * Returns false when the build must be continued later, because another session held a lock or partitions were added.
 *
 * An interrupted `create index concurrently` leaves an invalid index, which slows down writes and which no query uses.
 * Such an index is dropped and built again.
 */
export async function buildIndex(q: Query, migration: IndexMigration): Promise<boolean> {
  const { index, table } = migration
  await q.query('set statement_timeout = 0')
  if (!(await isPartitioned(q, table))) {
    await buildConcurrently(q, migration, { index, table })
    return true
  }
  return buildOnPartitions(q, migration)
}

type Place = { readonly index: string; readonly table: string }

async function buildConcurrently(
  q: Query,
  { isUnique, definition }: IndexMigration,
  { index, table }: Place,
): Promise<void> {
  const state = await stateOf(q, index)
  if (state === 'valid') return
  // The build has no lock timeout, because it must wait for old transactions. No other statement queues behind the
  // build.
  await q.query(NO_LOCK_TIMEOUT)
  if (state === 'invalid') await q.query(`drop index concurrently ${quoted(index)}`)
  const unique = isUnique ? 'unique ' : ''
  await q.query(`create ${unique}index concurrently ${quoted(index)} on ${quoted(table)} ${definition}`)
}

/**
 * Builds the index of a partitioned table, which PostgreSQL cannot build concurrently in one step. First creates an
 * index of the table without its partitions. Then builds an index on each partition and attaches the index. The index
 * of the table becomes valid when every partition has an index.
 */
async function buildOnPartitions(q: Query, migration: IndexMigration): Promise<boolean> {
  const { index, table, isUnique, definition } = migration
  await q.query(LOCK_TIMEOUT)
  try {
    if ((await stateOf(q, index)) === 'missing') {
      const unique = isUnique ? 'unique ' : ''
      await q.query(`create ${unique}index ${quoted(index)} on only ${quoted(table)} ${definition}`)
    }
    for (const partition of await partitionsWithout(q, migration)) {
      const name = `${partition}_${index}`.slice(0, MAX_NAME)
      await buildConcurrently(q, migration, { index: name, table: partition })
      await q.query(LOCK_TIMEOUT)
      await q.query(`alter index ${quoted(index)} attach partition ${quoted(name)}`)
    }
  } catch (error) {
    if (isLockConflict(error)) return false
    throw error
  }
  return (await stateOf(q, index)) === 'valid'
}

async function isPartitioned(q: Query, table: string): Promise<boolean> {
  const { rows } = await q.query<{ isPartitioned: boolean }>(
    `select relkind = 'p' as "isPartitioned" from pg_class where oid = to_regclass($1)`,
    [`public.${quoted(table)}`],
  )
  return rows[0]?.isPartitioned === true
}

async function stateOf(q: Query, index: string): Promise<'missing' | 'invalid' | 'valid'> {
  const { rows } = await q.query<{ isValid: boolean }>(
    'select indisvalid as "isValid" from pg_index where indexrelid = to_regclass($1)',
    [`public.${quoted(index)}`],
  )
  const [row] = rows
  if (row === undefined) return 'missing'
  return row.isValid ? 'valid' : 'invalid'
}

async function partitionsWithout(q: Query, { table, index }: Place): Promise<readonly string[]> {
  const { rows } = await q.query<{ name: string }>(
    `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
     where i.inhparent = to_regclass($1) and not exists (
       select from pg_index x join pg_inherits a on a.inhrelid = x.indexrelid
       where x.indrelid = c.oid and a.inhparent = to_regclass($2))
     order by 1`,
    [`public.${quoted(table)}`, `public.${quoted(index)}`],
  )
  return rows.map(({ name }) => name)
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
