import pg from 'pg'
import type { Logger } from 'pino'
import { sha256 } from '../../runtime/sha256.ts'
import { listenOn, pollInPlaceOfListen } from './connection/listen.ts'
import { ConnectionPool, type Statements, sessionLimits } from './connection/pool.ts'
import { isBehindPooler } from './connection/pooler.ts'
import { type DatabaseTlsFiles, databaseTls } from './connection/tls.ts'
import { unlessUnavailable } from './connection/unavailable.ts'
import type { Db, Query } from './query.ts'

export type DbOptions = {
  readonly url: string
  /**
   * Address of PostgreSQL itself, for LISTEN and for work on one connection outside of a transaction. Needed when
   * `url` leads to a connection pooler. When null or absent, `url` is used.
   */
  readonly listenUrl?: string | null
  /** Whether connections keep prepared statements; default: true. */
  readonly preparesStatements?: boolean
  /** TLS files for the connection. When absent, the TLS parameters of the URL apply. */
  readonly tls?: DatabaseTlsFiles
  readonly log: Logger
  /** Maximum number of connections in the pool. */
  readonly max?: number
  /** Milliseconds without an answer after which the pool checks a connection. A hung connection is closed. */
  readonly hangMs?: number
  /** Connection timeout in milliseconds. */
  readonly connectMs?: number
  /** Statement timeout in milliseconds. */
  readonly statementMs?: number
}

const DEFAULT_POOL_SIZE = 10
const HANG_MS = 4_000
const CONNECT_MS = 10_000
const STATEMENT_MS = 60_000

/**
 * Opens the pool and runs one query, so that a wrong address or password fails at the start instead of at the first
 * request.
 */
export async function openDb(options: DbOptions): Promise<Db> {
  const { url, listenUrl = null, tls, log, preparesStatements = true } = options
  const { hangMs = HANG_MS, connectMs = CONNECT_MS, statementMs = STATEMENT_MS } = options
  const { max = DEFAULT_POOL_SIZE } = options
  const config = connection(url, tls)
  const isPooled = await isBehindPooler(config, connectMs)
  const limits = { hangMs, connectMs, statementMs, log }
  const pool = new ConnectionPool({ ...limits, config, isPooled, max })
  const own = listenUrl === null ? null : connection(listenUrl, tls)
  const direct = own ?? (isPooled ? null : config)
  const sessions =
    own === null ? pool : new ConnectionPool({ ...limits, config: own, isPooled: false, max: 2 })
  const toQuery = queries(preparesStatements ? statementNames() : null)
  // A pooler does not keep the settings of a connection, so each transaction sets its own limits.
  const begin = isPooled ? `begin; ${localLimits(statementMs)}` : 'begin'
  if (isPooled && direct === null) log.warn(POOLED)
  return {
    isPolling: direct === null,
    msSinceFullDisk: () => pool.msSinceFullDisk(),
    query: (text, values) => pool.use(({ run }) => toQuery(run).query(text, values)),
    tx: (work) => transaction(pool, { toQuery, begin }, work),
    async session(work) {
      if (direct === null) throw new Error(NO_SESSION)
      return sessions.use(async ({ run, discard }) => {
        discard(new Error('the session ended'))
        return work(toQuery(run))
      })
    },
    listen: async (channel, onNotify) =>
      direct === null
        ? pollInPlaceOfListen(onNotify)
        : listenOn({ config: direct, channel, onNotify, log, hangMs, connectMs }),
    async close() {
      await Promise.all([pool.close(), ...(sessions === pool ? [] : [sessions.close()])])
    },
  }
}

const POOLED =
  'DATABASE_URL leads to a connection pooler, so this replica polls for changes; set DATABASE_LISTEN_URL to the address of PostgreSQL itself'
const NO_SESSION =
  'DATABASE_URL leads to a connection pooler, which cannot hold the lock of a migration: set DATABASE_LISTEN_URL to the address of PostgreSQL itself'

function localLimits(statementMs: number): string {
  return Object.entries(sessionLimits(statementMs))
    .map(([name, ms]) => `set local ${name} = ${ms}`)
    .join('; ')
}

function connection(url: string, tls: DatabaseTlsFiles | undefined): pg.ClientConfig {
  const verified = tls === undefined ? null : databaseTls(url, tls)
  // Parses `bigint` columns as numbers. The columns contain versions, sequence numbers and byte counts, all far below
  // 2^53.
  const types: pg.CustomTypesConfig = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  }
  return {
    ...(verified === null
      ? { connectionString: url }
      : { connectionString: verified.url, ssl: verified.ssl }),
    types,
    application_name: 'chaperone',
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
  }
}

/**
 * Returns a function that names prepared statements by a hash of their text. A connection prepares a statement with
 * parameters only at the first use of its name.
 */
function statementNames(): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = sha256(text).toString('base64url').slice(0, 24)
    // The map is limited to bound its memory. The limit is sufficient, because the texts of statements are constants
    // of the code, a few of them with optional filters.
    if (names.size < 1_000) names.set(text, name)
    return name
  }
}

type ToQuery = (run: Statements['run']) => Query

/**
 * Returns a function that creates a `Query` from a connection. `named` returns the name of a prepared statement by
 * its text. When `named` is null, statements are not prepared.
 */
function queries(named: ((text: string) => string) | null): ToQuery {
  const nameOf = (text: string) => (named === null ? {} : { name: named(text) })
  return (run) => ({
    async query<R>(text: string, values?: readonly unknown[]) {
      const statement = values === undefined ? text : { ...nameOf(text), text, values: [...values] }
      const result = await run(statement).catch(rethrow)
      return { rows: result.rows as R[], rowCount: result.rowCount ?? 0 }
    },
  })
}

function rethrow(error: unknown): never {
  throw unlessUnavailable(error)
}

async function transaction<T>(
  pool: ConnectionPool,
  { toQuery, begin }: { readonly toQuery: ToQuery; readonly begin: string },
  work: (query: Query) => Promise<T>,
): Promise<T> {
  return pool.use(async ({ run, discard }) => {
    try {
      await run(begin).catch(rethrow)
      const value = await work(toQuery(run))
      await run('commit').catch(rethrow)
      return value
    } catch (error) {
      await run('rollback').catch(discard)
      throw error
    }
  })
}
