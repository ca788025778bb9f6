import type { Logger } from 'pino'
import { sleep } from '../../../runtime/sleep.ts'
import { VERSION } from '../../version.ts'
import type { Db, Query } from '../query.ts'
import { onlyRow } from '../rows.ts'
import { buildIndex } from './build-index.ts'
import { type IndexMigration, readMigrations } from './migration-files.ts'
import { appliedMigrations } from './schema-version.ts'

export type IndexBuilderDeps = {
  readonly db: Db
  readonly log: Logger
  readonly folder?: string
  /** Version of this program; default: the version of the package. */
  readonly version?: string
  /** Milliseconds until the next attempt after an error, and while another replica builds an index. */
  readonly retryMs?: number
}

export type IndexBuilder = AsyncDisposable & {
  /** Resolves when all indexes are built, or when the builder is disposed. */
  readonly done: Promise<void>
}

/** Key of the advisory lock. The number is arbitrary, but all replicas must use the same number. */
const LOCK = 7_245_118_002
const RETRY_MS = 15_000
const PROGRESS_MS = 30_000

/**
 * Creates the builder of the indexes of the migrations `NNN-<what>.index.sql`, which are built while the control plane
 * serves. One replica builds at a time. The builder continues a build that an earlier process left incomplete. After an
 * error, the builder logs the error and tries again.
 */
export function createIndexBuilder(deps: IndexBuilderDeps): IndexBuilder {
  const { log, retryMs = RETRY_MS } = deps
  const stop = new AbortController()
  const run = async () => {
    while (!stop.signal.aborted) {
      const isComplete = await buildAll(deps, stop.signal).catch((error: unknown) => {
        if (!stop.signal.aborted) log.error({ err: error, retry_ms: retryMs }, 'index not built')
        return false
      })
      if (isComplete) return
      await sleep(retryMs, stop.signal)
    }
  }
  const done = run()
  return {
    done,
    async [Symbol.asyncDispose]() {
      stop.abort()
      await done
    },
  }
}

/** Builds the missing indexes. Returns false when an index is still missing or another replica holds the lock. */
async function buildAll(deps: IndexBuilderDeps, stop: AbortSignal): Promise<boolean> {
  const { db, log } = deps
  if ((await missingIndexes(db, deps)).length === 0) return true
  return db.session(async (q) => {
    if (!(await tryLock(q))) return false
    await using _ending = await endOn(stop, q, db)
    for (const migration of await missingIndexes(q, deps)) {
      if (stop.aborted || !(await build(q, migration, deps))) return false
    }
    log.info('all indexes are built')
    return true
  })
}

async function missingIndexes(q: Query, { folder }: IndexBuilderDeps): Promise<readonly IndexMigration[]> {
  const { indexes } = await readMigrations(folder)
  if (indexes.length === 0) return []
  const applied = new Set((await appliedMigrations(q)).map(({ number }) => number))
  return indexes.filter(({ number }) => !applied.has(number))
}

async function tryLock(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ isTaken: boolean }>('select pg_try_advisory_lock($1) as "isTaken"', [LOCK])
  return onlyRow(rows).isTaken
}

async function build(
  q: Query,
  migration: IndexMigration,
  { db, log, version = VERSION }: IndexBuilderDeps,
): Promise<boolean> {
  const { number, name, index } = migration
  const startedMs = performance.now()
  const elapsed = () => ({ index, elapsed_ms: Math.round(performance.now() - startedMs) })
  log.info({ index }, 'index build started')
  const report = async () =>
    log.info({ ...elapsed(), ...(await progressOf(db)) }, 'index build still running')
  const progress = setInterval(() => void report().catch(() => undefined), PROGRESS_MS)
  try {
    if (!(await buildIndex(q, migration))) return false
    await q.query('insert into schema_migrations (number, name, version) values ($1, $2, $3)', [
      ...[number, name, version],
    ])
    log.info(elapsed(), 'index built')
    return true
  } finally {
    clearInterval(progress)
  }
}

/** Returns the phase and the processed blocks of the running index build, from `pg_stat_progress_create_index`. */
async function progressOf(q: Query): Promise<object | undefined> {
  const { rows } = await q.query<{ phase: string; blocks_done: number; blocks_total: number }>(
    `select phase, blocks_done, blocks_total from pg_stat_progress_create_index
     where datname = current_database() limit 1`,
  )
  return rows[0]
}

/**
 * Ends the session of the build when the builder is disposed. Otherwise, closing the pool would wait until
 * the build ends.
 */
async function endOn(stop: AbortSignal, q: Query, db: Db): Promise<AsyncDisposable> {
  const { rows } = await q.query<{ pid: number }>('select pg_backend_pid() as pid')
  const { pid } = onlyRow(rows)
  let ended: Promise<unknown> | undefined
  const end = () => {
    ended = db.query('select pg_terminate_backend($1)', [pid]).catch(() => undefined)
  }
  if (stop.aborted) end()
  stop.addEventListener('abort', end, { once: true })
  return {
    async [Symbol.asyncDispose]() {
      stop.removeEventListener('abort', end)
      await ended
    },
  }
}
