import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { ChaperoneError } from '../../../core/errors.ts'
import { type DatabaseTlsFiles, readDatabaseTls } from '../../db/connection/tls.ts'
import { openDb } from '../../db/open.ts'
import type { Db } from '../../db/query.ts'
import { ROLE } from '../postgres/cluster.ts'
import { startEmbeddedPostgres } from '../postgres/embedded-postgres.ts'
import type { DataFolder } from '../state/data-folder.ts'
import { lockFolder, lockHolder } from '../state/folder-lock.ts'

/**
 * Runs `work` with a connection to the installation's database: the database of DATABASE_URL if set, otherwise the
 * embedded database. When the embedded database is stopped, this function starts it for the duration of `work`, under
 * the lock of the data folder.
 */
export async function withDatabase<T>(
  folder: DataFolder,
  env: NodeJS.ProcessEnv,
  work: (db: Db) => Promise<T>,
): Promise<T> {
  const { DATABASE_URL: given } = env
  if (given)
    return onDatabase(
      given,
      work,
      readDatabaseTls((name) => env[name] || null),
    )
  if (lockHolder(folder.lock) !== undefined) return onDatabase(runningUrl(folder), work)
  const lock = await lockFolder(folder.lock)
  try {
    return await withStartedDatabase(folder, work)
  } finally {
    lock.release()
  }
}

/** Starts the embedded database for the duration of `work`. The caller must hold the lock of the data folder. */
export async function withStartedDatabase<T>(folder: DataFolder, work: (db: Db) => Promise<T>): Promise<T> {
  const server = await startEmbeddedPostgres({
    dir: folder.postgres,
    password: { value: passwordOf(folder), isNew: false },
    logFile: join(folder.logs, 'postgres.log'),
  })
  try {
    return await onDatabase(server.url, work)
  } finally {
    await server.stop()
  }
}

async function onDatabase<T>(url: string, work: (db: Db) => Promise<T>, tls?: DatabaseTlsFiles): Promise<T> {
  const db = await openDb({ url, log: pino({ level: 'silent' }), max: 1, ...(tls ? { tls } : {}) })
  try {
    return await work(db)
  } finally {
    await db.close()
  }
}

/** Returns the URL of the running embedded database. Line 4 of PostgreSQL's pid file contains the port. */
function runningUrl(folder: DataFolder): string {
  const port = readFileSync(join(folder.postgres, 'postmaster.pid'), 'utf8').split('\n')[3]?.trim()
  if (port === undefined || !/^\d+$/.test(port)) {
    throw new ChaperoneError('not_ready', { detail: 'The database is starting or stopping. Try again.' })
  }
  return `postgres://${ROLE}:${passwordOf(folder)}@127.0.0.1:${port}/${ROLE}`
}

function passwordOf(folder: DataFolder): string {
  return readFileSync(folder.postgresPassword, 'utf8').trim()
}
