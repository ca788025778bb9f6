import { createHash } from 'node:crypto'
import pg from 'pg'
import type { Logger } from 'pino'
import { listenOn } from './listen.ts'
import type { Db, Query } from './query.ts'
import { unlessUnavailable } from './unavailable.ts'

export type DbOptions = {
  readonly url: string
  readonly log: Logger
  /** Connections in the pool; default 10. */
  readonly max?: number
}

/** Connects and asks one question, so that a wrong address or password is an error here and not at the first request. */
export async function openDb({ url, log, max = 10 }: DbOptions): Promise<Db> {
  const pool = new pg.Pool({
    ...connection(url),
    max,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    statement_timeout: 60_000,
    idle_in_transaction_session_timeout: 60_000,
  })
  pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'))
  const named = statementNames()
  try {
    await pool.query('select 1')
  } catch (error) {
    await pool.end()
    throw error
  }
  return {
    query: queryOn(pool, named),
    tx: (work) => transaction(pool, named, work),
    listen: (channel, onNotify) => listenOn({ config: connection(url), channel, onNotify, log }),
    close: () => pool.end(),
  }
}

function connection(url: string): pg.ClientConfig {
  // `bigint` columns hold versions, sequence numbers and byte counts: all far below 2^53.
  const types: pg.CustomTypesConfig = {
    getTypeParser: (oid: number, format?: 'text' | 'binary') =>
      oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format as 'text'),
  }
  return { connectionString: url, keepAlive: true, types, application_name: 'chaperone' }
}

/** Statements with values are prepared once per connection, under a name made from their text. */
function statementNames(): (text: string) => string {
  const names = new Map<string, string>()
  return (text) => {
    const known = names.get(text)
    if (known !== undefined) return known
    const name = createHash('sha256').update(text).digest('base64url').slice(0, 24)
    // Texts come from the code, but a few are built from optional filters: keep the map bounded.
    if (names.size < 1_000) names.set(text, name)
    return name
  }
}

type Runner = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>

function queryOn(runner: Runner, named: (text: string) => string): Query['query'] {
  return async <R>(text: string, values?: readonly unknown[]) => {
    const asked =
      values === undefined
        ? runner.query(text)
        : runner.query({ name: named(text), text, values: [...values] })
    const result = await asked.catch(rethrow)
    return { rows: result.rows as R[], rowCount: result.rowCount ?? 0 }
  }
}

function rethrow(error: unknown): never {
  throw unlessUnavailable(error)
}

async function transaction<T>(
  pool: pg.Pool,
  named: (text: string) => string,
  work: (query: Query) => Promise<T>,
): Promise<T> {
  const client = await pool.connect().catch(rethrow)
  let broken: Error | undefined
  // Without a listener a connection that dies between two statements would end the process.
  const onError = (error: Error) => {
    broken = error
  }
  client.on('error', onError)
  try {
    await client.query('begin').catch(rethrow)
    const value = await work({ query: queryOn(client, named) })
    await client.query('commit').catch(rethrow)
    return value
  } catch (error) {
    await client.query('rollback').catch((failure: Error) => {
      broken = failure
    })
    throw error
  } finally {
    client.off('error', onError)
    client.release(broken)
  }
}
