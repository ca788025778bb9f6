import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Db, Query } from './query.ts'

const FOLDER = join(import.meta.dirname, 'migrations')
/** Key of the advisory lock: an arbitrary number that all replicas share. */
const LOCK = 7_245_118_001

export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/**
 * Migrates the database to the schema of this program: runs each numbered file once, in order, all in one transaction
 * under an advisory lock. Returns the applied numbers. Throws when a newer program has migrated the database. `only`
 * selects migrations, for a backup of an older schema.
 */
export async function migrate(
  db: Db,
  folder = FOLDER,
  only: (number: number) => boolean = () => true,
): Promise<readonly number[]> {
  const migrations = await readMigrations(folder)
  return db.tx(async (q) => {
    await q.query('select pg_advisory_xact_lock($1)', [LOCK])
    await q.query(
      'create table if not exists schema_migrations (number integer primary key, name text not null, applied_at timestamptz not null default now())',
    )
    const applied = await appliedNumbers(q)
    refuseNewer(applied, migrations)
    const pending = migrations.filter(({ number }) => !applied.includes(number) && only(number))
    for (const migration of pending) {
      await q.query(migration.sql)
      await q.query('insert into schema_migrations (number, name) values ($1, $2)', [
        migration.number,
        migration.name,
      ])
    }
    return pending.map((migration) => migration.number)
  })
}

/** Returns the numbers of all migrations of this program. */
export async function knownSchemas(folder = FOLDER): Promise<readonly number[]> {
  return (await readMigrations(folder)).map(({ number }) => number)
}

async function readMigrations(folder: string): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{3}-[a-z0-9-]+\.sql$/.test(name)).sort()
  return Promise.all(
    names.map(async (name) => ({
      number: Number(name.slice(0, 3)),
      name,
      sql: await readFile(join(folder, name), 'utf8'),
    })),
  )
}

async function appliedNumbers(q: Query): Promise<readonly number[]> {
  const { rows } = await q.query<{ number: number }>('select number from schema_migrations order by number')
  return rows.map((row) => row.number)
}

function refuseNewer(applied: readonly number[], known: readonly Migration[]): void {
  const newest = known.at(-1)?.number ?? 0
  const unknown = applied.filter((number) => number > newest)
  if (unknown.length === 0) return
  throw new Error(
    `the database is at schema ${Math.max(...unknown)}, this program knows schemas up to ${newest}: a newer version of Chaperone has used this database. Start that version again, or point DATABASE_URL at another database`,
  )
}
