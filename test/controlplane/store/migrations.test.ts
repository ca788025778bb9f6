import { cpSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { createIndexBuilder } from '../../../controlplane/db/schema/index-builder.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { VERSION } from '../../../controlplane/version.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const MIGRATIONS = join(import.meta.dirname, '../../../controlplane/db/schema/migrations')

let server: TestPostgres
let folder: string
let lines: Array<Record<string, unknown>>
const log = pino({ level: 'debug' }, { write: (line: string) => lines.push(JSON.parse(line)) })
const opened: Db[] = []

beforeAll(async () => {
  server = await workerPostgres()
})
afterEach(async () => {
  await Promise.all(opened.splice(0).map((db) => db.close()))
  rmSync(folder, { recursive: true, force: true })
})
afterAll(() => server?.stop())

/** An empty database, a folder with these migrations and an empty log. */
async function world(files: Readonly<Record<string, string>> = {}) {
  lines = []
  folder = mkdtempSync(join(tmpdir(), 'chaperone-migrations-'))
  add(files)
  const { url } = await server.createDatabase()
  return { url, db: await open(url) }
}

function add(files: Readonly<Record<string, string>>): void {
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(folder, name), sql)
}

async function open(url: string, options: { readonly statementMs?: number } = {}): Promise<Db> {
  const db = await openDb({ url, log, ...options })
  opened.push(db)
  return db
}

const messages = () => lines.map(({ msg }) => msg)

async function exists(db: Db, table: string): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>('select to_regclass($1) is not null as found', [table])
  return rows[0]?.found === true
}

describe('migrations', () => {
  test('of the product are applied once', async () => {
    const { db } = await world()
    const files = readdirSync(join(import.meta.dirname, '../../../controlplane/db/schema/migrations')).sort()
    const names = files.filter((name) => !name.endsWith('.index.sql'))
    const numbers = names.map((name) => Number.parseInt(name, 10))
    expect(await migrate(db, { log })).toEqual(numbers)
    expect(await migrate(db, { log })).toEqual([])
    const { rows } = await db.query('select number, name, version from schema_migrations order by number')
    expect(rows).toEqual(names.map((name, index) => ({ number: numbers[index], name, version: VERSION })))
  })

  test('are run by one of several replicas; the others say that they wait', async () => {
    const { db, url } = await world({ '001-slow.sql': 'select pg_sleep(0.5); create table made ();' })
    const replicas = await Promise.all([open(url), open(url)])
    const applied = await Promise.all([db, ...replicas].map((replica) => migrate(replica, { folder, log })))
    expect(applied.filter((numbers) => numbers.length > 0)).toEqual([[1]])
    expect(messages()).toContain('another replica migrates the database, waiting')
    expect(messages().filter((message) => message === 'migration applied')).toHaveLength(1)
  })

  test('have a transaction each: those before a failed one stay, and a corrected one is applied next', async () => {
    const { db } = await world({
      '001-good.sql': 'create table good ();',
      '002-bad.sql': 'create table half (); create table oops (;',
    })
    await expect(migrate(db, { folder })).rejects.toThrow(/syntax error/)
    expect([await exists(db, 'good'), await exists(db, 'half')]).toEqual([true, false])
    add({ '002-bad.sql': 'create table half ();' })
    expect(await migrate(db, { folder })).toEqual([2])
  })

  test('wait for a lock only so long that others go on, and try again', async () => {
    const { db } = await world({ '001-table.sql': 'create table busy (id int);' })
    await migrate(db, { folder })
    add({ '002-column.sql': 'alter table busy add column more int;' })
    const reading = Promise.withResolvers<void>()
    const isReading = Promise.withResolvers<void>()
    const reader = db.tx(async (q) => {
      await q.query('select * from busy')
      isReading.resolve()
      await reading.promise
    })
    await isReading.promise
    const migrating = migrate(db, { folder, log, lockTimeoutMs: 200, retryMs: 200 })
    await eventually('the migration is in the queue', async () => {
      const { rows } = await db.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'alter table busy%'",
      )
      return rows[0] ?? null
    })
    // Queued behind the migration, which the reader blocks.
    await db.query('insert into busy (id) values (1)')
    await eventually('the next attempt', async () =>
      messages().includes('migration could not lock its tables, trying again') ? true : null,
    )
    reading.resolve()
    await reader
    expect(await migrating).toEqual([2])
  })

  test('may take longer than a statement of a request', async () => {
    const { url } = await world({ '001-slow.sql': 'select pg_sleep(2);' })
    // On a busy machine a short statement must end within this time.
    const db = await open(url, { statementMs: 1_500 })
    await expect(db.query('select pg_sleep(2)')).rejects.toThrow(/statement timeout/)
    expect(await migrate(db, { folder })).toEqual([1])
  })
})

describe('a database of another version', () => {
  const [major, minor] = VERSION.split('.').map(Number) as [number, number]

  async function migratedBy(version: string) {
    const given = await world()
    cpSync(MIGRATIONS, folder, { recursive: true })
    add({ '900-future.sql': 'create table future ();' })
    await migrate(given.db, { folder, version })
    return given
  }

  test('of the next minor version is used, with a warning', async () => {
    const { db } = await migratedBy(`${major}.${minor + 1}.3`)
    expect(await migrate(db, { log })).toEqual([])
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: 40,
        msg: 'the database has the schema of a later version, which this version can use; upgrade this replica',
        ...{ schema: 900, schema_version: `${major}.${minor + 1}.3`, version: VERSION },
      }),
    )
  })

  test.each([`${major}.${minor + 2}.0`, `${major + 1}.0.0`])(
    'of %s is refused with the remedy',
    async (version) => {
      const { db } = await migratedBy(version)
      await expect(migrate(db)).rejects.toThrow(
        `The database was migrated by Chaperone ${version} to schema 900. Chaperone ${VERSION} can use databases of versions up to ${major}.${minor + 1}. Start Chaperone ${version}, or set DATABASE_URL to another database.`,
      )
    },
  )

  test('of a development version is refused', async () => {
    const { db } = await world()
    await db.query(
      'create table schema_migrations (number integer primary key, name text not null, applied_at timestamptz not null default now())',
    )
    await db.query("insert into schema_migrations (number, name) values (1, 'a'), (94, 'b')")
    await expect(migrate(db)).rejects.toThrow(
      /has schema 94 of a development version.*Set DATABASE_URL to an empty database/,
    )
  })
})

describe('indexes of large tables', () => {
  const definitionOf = async (db: Db, index: string) => {
    const { rows } = await db.query<{ text: string; isValid: boolean }>(
      `select pg_get_indexdef(indexrelid) as text, indisvalid as "isValid" from pg_index
       where indexrelid = to_regclass($1)`,
      [index],
    )
    return rows[0]
  }
  const numbers = async (db: Db) =>
    (await db.query<{ number: number }>('select number from schema_migrations order by 1')).rows.map(
      ({ number }) => number,
    )
  const TABLE = {
    '001-table.sql':
      'create table large (id int, kind text); insert into large select 1, n::text from generate_series(1, 100) n;',
  }

  test('are no part of a start, and are built after it by one replica', async () => {
    const { db, url } = await world({
      ...TABLE,
      '002-kinds.index.sql':
        '-- Kinds.\ncreate index concurrently large_kind on large (kind) where id > 0;\n',
    })
    expect(await migrate(db, { folder })).toEqual([1])
    expect(await definitionOf(db, 'large_kind')).toBeUndefined()
    const builders = [db, await open(url)].map((each) =>
      createIndexBuilder({ db: each, log, folder, retryMs: 50 }),
    )
    await Promise.all(builders.map(({ done }) => done))
    expect(await definitionOf(db, 'large_kind')).toEqual({
      text: 'CREATE INDEX large_kind ON public.large USING btree (kind) WHERE (id > 0)',
      isValid: true,
    })
    expect(await numbers(db)).toEqual([1, 2])
    expect(messages().filter((message) => message === 'index built')).toHaveLength(1)
    expect(await migrate(db, { folder })).toEqual([])
  })

  test('that a crash left invalid are dropped and built again', async () => {
    const { db } = await world({
      ...TABLE,
      '002-ids.index.sql': 'create index concurrently large_id on large (id, kind);',
    })
    await migrate(db, { folder })
    await expect(db.query('create unique index concurrently large_id on large (id)')).rejects.toThrow(
      /could not create unique index/,
    )
    expect(await definitionOf(db, 'large_id')).toMatchObject({ isValid: false })
    await createIndexBuilder({ db, log, folder }).done
    expect(await definitionOf(db, 'large_id')).toEqual({
      text: 'CREATE INDEX large_id ON public.large USING btree (id, kind)',
      isValid: true,
    })
  })

  test('that cannot be built are reported and tried again', async () => {
    const { db } = await world({
      ...TABLE,
      '002-ids.index.sql': 'create unique index concurrently large_id on large (id);',
    })
    await migrate(db, { folder })
    await using builder = createIndexBuilder({ db, log, folder, retryMs: 50 })
    await eventually('the report', async () => (messages().includes('index not built') ? true : null))
    await db.query('delete from large where kind <> $1', ['1'])
    await builder.done
    expect(await definitionOf(db, 'large_id')).toMatchObject({ isValid: true })
  })

  test('of a partitioned table are built on every partition, old and new', async () => {
    const { db } = await world({
      '001-table.sql': `create table parts (day date, kind text) partition by range (day);
        create table parts_default partition of parts default;
        create table parts_1 partition of parts for values from ('2026-01-01') to ('2026-01-02');`,
      '002-kinds.index.sql': 'create index concurrently parts_kind on parts (kind);',
    })
    await migrate(db, { folder })
    // As a crash would leave it: the index of the table exists, the one of a partition is invalid.
    await db.query('create index parts_kind on only parts (kind)')
    await db.query("insert into parts values ('2026-01-01', 'a'), ('2026-01-01', 'a')")
    await expect(
      db.query('create unique index concurrently parts_1_parts_kind on parts_1 (kind)'),
    ).rejects.toThrow()
    await createIndexBuilder({ db, log, folder, retryMs: 50 }).done
    expect(await definitionOf(db, 'parts_kind')).toMatchObject({ isValid: true })
    await db.query("create table parts_2 partition of parts for values from ('2026-01-02') to ('2026-01-03')")
    const { rows } = await db.query<{ table: string }>(
      `select x.indrelid::regclass::text as table from pg_inherits i join pg_index x on x.indexrelid = i.inhrelid
       where i.inhparent = 'parts_kind'::regclass and x.indisvalid order by 1`,
    )
    expect(rows.map(({ table }) => table)).toEqual(['parts_1', 'parts_2', 'parts_default'])
  })

  test('do not keep a control plane from stopping', async () => {
    const { db, url } = await world({
      ...TABLE,
      '002-kinds.index.sql': 'create index concurrently large_kind on large (kind);',
    })
    await migrate(db, { folder })
    const other = await open(url)
    const release = Promise.withResolvers<void>()
    const hasWritten = Promise.withResolvers<void>()
    const writer = other.tx(async (q) => {
      await q.query('insert into large values (1, $1)', ['new'])
      hasWritten.resolve()
      await release.promise
    })
    await hasWritten.promise
    const builder = createIndexBuilder({ db, log, folder })
    await eventually('the build waits for the writer', async () => {
      const { rows } = await other.query(
        "select 1 from pg_stat_activity where wait_event_type = 'Lock' and query like 'create index concurrently%'",
      )
      return rows[0] ?? null
    })
    await builder[Symbol.asyncDispose]()
    expect(await numbers(db)).toEqual([1])
    release.resolve()
    await writer
    await createIndexBuilder({ db, log, folder }).done
    expect(await definitionOf(db, 'large_kind')).toMatchObject({ isValid: true })
  })

  test('are written in one statement that names index and table', async () => {
    const { db } = await world({ '001-kinds.index.sql': 'create index large_kind on large (kind);' })
    await expect(migrate(db, { folder })).rejects.toThrow(
      '001-kinds.index.sql must contain one statement of the form "create index concurrently NAME on TABLE ...;".',
    )
  })
})
