import type { Logger } from 'pino'
import { sleep } from '../../../runtime/sleep.ts'
import { VERSION } from '../../version.ts'
import { isLockConflict } from '../connection/unavailable.ts'
import type { Db, Query } from '../query.ts'
import { type Migration, readMigrations } from './migration-files.ts'
import { type AppliedMigration, appliedMigrations, laterMigrations } from './schema-version.ts'

export type MigrateOptions = {
  readonly log?: Pick<Logger, 'info' | 'warn'>
  readonly folder?: string
  /** Selects the migrations to apply, by number. A restore of a backup with an older schema uses this filter. */
  readonly only?: (number: number) => boolean
  /** Version of this program; default: the version of the package. */
  readonly version?: string
  /**
   * Milliseconds for which a statement waits for a table lock. The limit is necessary because later statements on the
   * table queue behind the waiting statement.
   */
  readonly lockTimeoutMs?: number
  /**
   * Milliseconds between two attempts after a lock timeout. During this time, the statements that queued behind the
   * migration are executed.
   */
  readonly retryMs?: number
  /** Starts a service while migrations are pending. The service is disposed after the last migration. */
  readonly whilePending?: () => Promise<AsyncDisposable>
}

/** Key of the advisory lock. The number is arbitrary, but all replicas must use the same number. */
const LOCK = 7_245_118_001
const LOCK_POLL_MS = 200
const LOCK_TIMEOUT_MS = 5_000
const RETRY_MS = 2_000
const MAX_ATTEMPTS = 100
const PROGRESS_MS = 10_000

/**
 * Migrates the database to the schema of this program. Returns the numbers of the applied migrations. Each migration
 * runs once, in a separate transaction. Only the replica that holds the advisory lock migrates; other replicas wait.
 * Throws when the database has a migration of a program later than the next minor version.
 */
export async function migrate(db: Db, options: MigrateOptions = {}): Promise<readonly number[]> {
  if ((await pendingMigrations(db, options)).length === 0) return []
  await using _running = await options.whilePending?.()
  return await db.session(async (q) => {
    await takeLock(q, options.log)
    await q.query(
      'create table if not exists schema_migrations (number integer primary key, name text not null, version text not null, applied_at timestamptz not null default now())',
    )
    const pending = await pendingMigrations(q, options)
    for (const migration of pending) await apply(q, migration, options)
    await q.query('select pg_advisory_unlock($1)', [LOCK])
    return pending.map(({ number }) => number)
  })
}

/**
 * Returns the migrations that are not applied yet. Throws when the database has a migration of a program later than
 * the next minor version.
 */
async function pendingMigrations(
  q: Query,
  { folder, only = () => true, version = VERSION, log }: MigrateOptions = {},
): Promise<readonly Migration[]> {
  const { migrations, indexes } = await readMigrations(folder)
  const applied = await appliedMigrations(q)
  const known = new Set([...migrations, ...indexes].map(({ number }) => number))
  warnOfLater(laterMigrations({ applied, known, version }), version, log)
  const numbers = new Set(applied.map(({ number }) => number))
  return migrations.filter(({ number }) => !numbers.has(number) && only(number))
}

function warnOfLater(later: readonly AppliedMigration[], version: string, log: MigrateOptions['log']): void {
  const newest = later.at(-1)
  if (newest === undefined) return
  const fields = { schema: newest.number, schema_version: newest.version, version }
  log?.warn(
    fields,
    'the database has the schema of a later version, which this version can use; upgrade this replica',
  )
}

/**
 * Polls for the advisory lock instead of waiting in the database. A waiting statement would hold a snapshot, and
 * `create index concurrently` on another replica would wait for this snapshot.
 */
async function takeLock(q: Query, log: MigrateOptions['log']): Promise<void> {
  for (let polls = 0; ; polls++) {
    const { rows } = await q.query<{ isTaken: boolean }>('select pg_try_advisory_lock($1) as "isTaken"', [
      LOCK,
    ])
    if (rows[0]?.isTaken === true) return
    if (polls % (PROGRESS_MS / LOCK_POLL_MS) === 0)
      log?.info(
        { waited_s: (polls * LOCK_POLL_MS) / 1_000 },
        'another replica migrates the database, waiting',
      )
    await sleep(LOCK_POLL_MS)
  }
}

async function apply(q: Query, migration: Migration, options: MigrateOptions): Promise<void> {
  const { log, lockTimeoutMs = LOCK_TIMEOUT_MS, retryMs = RETRY_MS } = options
  const { name } = migration
  const startedMs = performance.now()
  const elapsed = () => ({ migration: name, elapsed_ms: Math.round(performance.now() - startedMs) })
  log?.info({ migration: name }, 'migration started')
  const progress = setInterval(() => log?.info(elapsed(), 'migration still running'), PROGRESS_MS)
  try {
    for (let attempt = 1; !(await isApplied(q, migration, options)); attempt++) {
      if (attempt === MAX_ATTEMPTS) throw locked(migration, attempt * (lockTimeoutMs + retryMs))
      log?.warn({ ...elapsed(), attempt }, 'migration could not lock its tables, trying again')
      await sleep(retryMs)
    }
    log?.info(elapsed(), 'migration applied')
  } finally {
    clearInterval(progress)
  }
}

/**
 * Runs the migration in a transaction. Returns false when the transaction was rolled back because another session holds
 * a lock.
 */
async function isApplied(
  q: Query,
  { number, name, sql }: Migration,
  { version = VERSION, lockTimeoutMs = LOCK_TIMEOUT_MS }: MigrateOptions,
): Promise<boolean> {
  try {
    await q.query('begin')
    await q.query(
      `set local lock_timeout = ${lockTimeoutMs}; set local statement_timeout = 0; set local idle_in_transaction_session_timeout = 0`,
    )
    await q.query(sql)
    await q.query('insert into schema_migrations (number, name, version) values ($1, $2, $3)', [
      ...[number, name, version],
    ])
    await q.query('commit')
    return true
  } catch (error) {
    await q.query('rollback').catch(() => undefined)
    if (isLockConflict(error)) return false
    throw error
  }
}

function locked({ name }: Migration, ms: number): Error {
  return new Error(
    `The migration ${name} could not lock its tables for ${Math.round(ms / 1_000)} s, because other sessions use them. End long transactions on the database, then start again.`,
  )
}
