import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Logger } from 'pino'
import { listenOn } from './listen.ts'
import { type ConnectionPool, createConnectionPool, type Statements } from './pool.ts'
import type { Db, Query } from './query.ts'
import { type DatabaseTlsFiles, databaseTls } from './tls.ts'
import { unlessUnavailable } from './unavailable.ts'

export type DbOptions = {
  readonly url: string
  /** Default: the TLS parameters of the URL apply. */
  readonly tls?: DatabaseTlsFiles
  readonly log: Logger
  /** Maximum number of connections in the pool. */
  readonly max?: number
  /** Milliseconds without an answer after which the pool checks a connection. A hung connection is closed. */
  readonly hangMs?: number
  /** Limit of the time to connect, in milliseconds. */
  readonly connectMs?: number
  /** Limit of the execution time of a statement, in milliseconds. */
  readonly statementMs?: number
}

const DEFAULT_POOL_SIZE = 10
const HANG_MS = 10_000
const CONNECT_MS = 10_000
const STATEMENT_MS = 60_000

/**
 * Opens the pool and runs one query, so that a wrong address or password fails at the start instead of at the first
 * request.
 */
export async function openDb({
  url,
  tls,
  log,
  max = DEFAULT_POOL_SIZE,
  hangMs = HANG_MS,
  connectMs = CONNECT_MS,
  statementMs = STATEMENT_MS,
}: DbOptions): Promise<Db> {
  const config = connection(url, tls)
  const pool = createConnectionPool({ config, max, hangMs, connectMs, statementMs, log })
  const named = statementNames()
  try {
    await pool.use(({ run }) => run('select 1'))
  } catch (error) {
    await pool.close()
    throw error
  }
  return {
    query: (text, values) => pool.use(({ run }) => queryOn(run, named)(text, values)),
    tx: (work) => transaction(pool, named, work),
    session: (work) =>
      pool.use(async ({ run, discard }) => {
        discard(new Error('the session ended'))
        return work({ query: queryOn(run, named) })
      }),
    listen: (channel, onNotify) => listenOn({ config, channel, onNotify, log, hangMs, connectMs }),
    close: pool.close,
  }
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
    ...{ types, application_name: 'chaperone' },
    ...{ keepAlive: true, keepAliveInitialDelayMillis: 10_000 },
  }
}

/**
 * Returns a function that names prepared statements by their text. A connection prepares each statement with values
 * only once.
 */
function statementNames(): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    // Statement texts are constants of the code, and a few texts have optional filters. The limit bounds the map.
    if (names.size < 1_000) names.set(text, name)
    return name
  }
}

function queryOn(run: Statements['run'], named: (text: string) => string): Query['query'] {
  return async <R>(text: string, values?: readonly unknown[]) => {
    const statement = values === undefined ? text : { name: named(text), text, values: [...values] }
    const result = await run(statement).catch(rethrow)
    return { rows: result.rows as R[], rowCount: result.rowCount ?? 0 }
  }
}

function rethrow(error: unknown): never {
  throw unlessUnavailable(error)
}

async function transaction<T>(
  pool: ConnectionPool,
  named: (text: string) => string,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  return pool.use(async ({ run, discard }) => {
    try {
      await run('begin').catch(rethrow)
      const value = await work({ query: queryOn(run, named) })
      await run('commit').catch(rethrow)
      return value
    } catch (error) {
      await run('rollback').catch(discard)
      throw error
    }
  })
}
