import type { Db, Query } from './query.ts'
import { onlyRow } from './rows.ts'
import { appliedMigrations } from './schema/schema-version.ts'

export type DumpedTable = { readonly name: string; readonly columns: readonly string[] }
export type DumpedSequence = { readonly name: string; readonly value: string }

/** Part of a dump. Rows are a JSON array in text form, which keeps the exact values of numbers and JSON columns. */
export type DumpPart =
  | { readonly kind: 'table'; readonly table: DumpedTable }
  | { readonly kind: 'rows'; readonly text: string; readonly count: number }
  | { readonly kind: 'sequence'; readonly sequence: DumpedSequence }

const ROWS_AT_ONCE = 200
/**
 * Tables that a dump omits. Either the migrations fill them, or the trigger of the table `traffic` fills them while
 * the dump is loaded. A dump that an earlier version made of the same schema may contain these tables; their rows
 * are not loaded.
 */
const NOT_DUMPED = [
  'schema_migrations',
  'traffic_increments',
  'traffic_rollup_agents',
  'traffic_rollup_begin',
  'traffic_rollup_denials',
  'traffic_rollups',
]

/** Returns the numbers of the applied migrations. Returns none for an unused database. */
export async function schemaOf(q: Query): Promise<readonly number[]> {
  return (await appliedMigrations(q)).map(({ number }) => number)
}

/**
 * Writes every sequence and every table, except unlogged tables and `NOT_DUMPED`, from one snapshot of the database.
 * The order of the tables satisfies foreign keys when the dump is loaded.
 */
export async function dump(db: Db, write: (part: DumpPart) => Promise<void>): Promise<void> {
  await db.tx(async (q) => {
    await q.query('set transaction isolation level repeatable read, read only')
    await q.query("set local statement_timeout = '10min'; set local idle_in_transaction_session_timeout = 0")
    for (const table of await tablesInOrder(q)) {
      await write({ kind: 'table', table })
      await dumpRows(q, table, write)
    }
    const { rows } = await q.query<DumpedSequence>(
      `select sequencename as name, last_value::text as value from pg_sequences
       where schemaname = 'public' and last_value is not null order by 1`,
    )
    for (const sequence of rows) await write({ kind: 'sequence', sequence })
  })
}

async function dumpRows(
  q: Query,
  { name }: DumpedTable,
  write: (part: DumpPart) => Promise<void>,
): Promise<void> {
  await q.query(
    `declare dumped no scroll cursor for select row_to_json(t)::text as row from ${quoted(name)} t`,
  )
  for (;;) {
    const { rows } = await q.query<{ row: string }>(`fetch forward ${ROWS_AT_ONCE} from dumped`)
    if (rows.length === 0) break
    await write({ kind: 'rows', text: `[${rows.map(({ row }) => row).join(',')}]`, count: rows.length })
  }
  await q.query('close dumped')
}

/**
 * Returns the tables in an order in which a referenced table precedes the tables that reference it. Partitions count
 * as part of their parent table.
 */
async function tablesInOrder(q: Query): Promise<readonly DumpedTable[]> {
  const { rows } = await q.query<DumpedTable & { needs: readonly string[] }>(
    `select c.relname as name,
       array(select a.attname::text from pg_attribute a
             where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped order by a.attnum) as columns,
       array(select r.relname::text from pg_constraint f join pg_class r on r.oid = f.confrelid
             where f.conrelid = c.oid and f.contype = 'f' and f.confrelid <> c.oid) as needs
     from pg_class c
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p') and not c.relispartition
       -- Unlogged tables contain data of minutes, which is useless in another installation.
       and c.relpersistence = 'p' and c.relname <> all($1::text[])
     order by c.relname`,
    [NOT_DUMPED],
  )
  const byName = new Map(rows.map((row) => [row.name, row]))
  const ordered = new Map<string, DumpedTable>()
  const visit = (name: string): void => {
    const row = byName.get(name)
    if (row === undefined || ordered.has(name)) return
    for (const needed of row.needs) visit(needed)
    ordered.set(name, { name, columns: row.columns })
  }
  for (const { name } of rows) visit(name)
  return [...ordered.values()]
}

/** Deletes the rows that migrations inserted, because the dump contains these rows in their latest state. */
export async function emptyTable(q: Query, name: string): Promise<void> {
  if (NOT_DUMPED.includes(name)) return
  const { rows } = await q.query<{ any: boolean }>(`select exists (select from ${quoted(name)}) as any`)
  // The database user has no DELETE privilege on the audit log. The audit log is empty when a dump is loaded, so
  // nothing is deleted from it.
  if (onlyRow(rows).any) await q.query(`delete from ${quoted(name)}`)
}

export async function loadRows(q: Query, { name, columns }: DumpedTable, text: string): Promise<void> {
  if (NOT_DUMPED.includes(name)) return
  const list = columns.map(quoted).join(', ')
  if (name === 'traffic') {
    await q.query(
      `select ensure_traffic_days(array(select distinct ((r->>'time')::timestamptz at time zone 'utc')::date from json_array_elements($1::json) r))`,
      [text],
    )
  }
  await q.query(
    `insert into ${quoted(name)} (${list}) overriding system value
     select ${list} from json_populate_recordset(null::${quoted(name)}, $1::json)`,
    [text],
  )
}

export async function loadSequence(q: Query, { name, value }: DumpedSequence): Promise<void> {
  await q.query('select setval($1::regclass, $2::bigint)', [`public.${quoted(name)}`, value])
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
