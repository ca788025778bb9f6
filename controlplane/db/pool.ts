import pg from 'pg'
import type { Logger } from 'pino'
import { unlessUnavailable } from './unavailable.ts'

/** Connection pool that detects and closes hung connections. */
export type ConnectionPool = {
  /**
   * Runs `work` on one connection. A broken or hung connection is closed afterwards; any other connection returns to
   * the pool.
   */
  use<T>(work: (statements: Statements) => Promise<T>): Promise<T>
  close(): Promise<void>
}

export type Statements = {
  run(statement: string | pg.QueryConfig): Promise<pg.QueryResult>
  /** Marks the connection to be closed after use, because its state is unknown. */
  discard(error: Error): void
}

export type ConnectionPoolOptions = {
  readonly config: pg.ClientConfig
  readonly max: number
  /** Milliseconds without an answer after which the pool checks a statement. */
  readonly hangMs: number
  /** Limit of the time to connect, in milliseconds. */
  readonly connectMs: number
  /** Limit of the execution time of a statement, in milliseconds. */
  readonly statementMs: number
  readonly log: Logger
}

/**
 * Creates the connection pool. After a failover that drops packets, a connection has no traffic until the kernel stops
 * retransmitting (typically 15 minutes). A timeout alone cannot distinguish this connection from one with a slow
 * statement. Therefore a second connection queries whether the server still works on the statement. If not, the pool
 * closes the connection and replaces all other connections, because they lead to the same server.
 */
export function createConnectionPool(options: ConnectionPoolOptions): ConnectionPool {
  const { log, hangMs } = options
  let pool = createPool(options)

  function replace(hung: pg.Pool): void {
    if (pool !== hung) return
    log.warn({ hung_ms: hangMs }, 'database connection hangs, all connections are replaced')
    pool = createPool(options)
    void hung.end()
  }

  function statementsOn(client: pg.PoolClient, own: pg.Pool, discard: (error: Error) => void): Statements {
    return {
      discard,
      async run(statement) {
        const guard = watchStatement(client, options, () => {
          discard(new Error('the connection hangs'))
          replace(own)
        })
        try {
          return await client.query(statement)
        } finally {
          guard[Symbol.dispose]()
        }
      },
    }
  }

  return {
    async use(work) {
      const own = pool
      const client = await own.connect().catch(rethrow)
      let broken: Error | undefined
      const discard = (error: Error) => {
        broken = error
      }
      // Without an error listener, a connection that breaks between two statements would end the process.
      client.on('error', discard)
      try {
        return await work(statementsOn(client, own, discard))
      } finally {
        client.off('error', discard)
        client.release(broken)
      }
    },
    close: () => pool.end(),
  }
}

/**
 * Checks a statement at intervals and ends the client when the statement hangs. Calls `onHung` before it ends the
 * client.
 */
export function watchStatement(
  client: pg.ClientBase,
  { config, hangMs }: Pick<ConnectionPoolOptions, 'config' | 'hangMs'>,
  onHung: () => void,
): Disposable {
  let isOver = false
  const check = async () => {
    const isWorking = await isWorkingOn(config, processIdOf(client))
    if (isOver) return
    if (isWorking) {
      timer = setTimeout(check, hangMs)
      return
    }
    onHung()
    // `end` destroys the socket of a client with an active statement, which rejects the statement.
    void (client as pg.Client).end().catch(ignore)
  }
  let timer = setTimeout(check, hangMs)
  return {
    [Symbol.dispose]() {
      isOver = true
      clearTimeout(timer)
    },
  }
}

function createPool({ config, max, connectMs, statementMs, log }: ConnectionPoolOptions): pg.Pool {
  const pool = new pg.Pool({
    ...config,
    max,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: 60_000,
  })
  pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'))
  return pool
}

const CHECK_MS = 3_000

/**
 * Returns whether the server works on the statement. False when the server does not answer. True when the server
 * refuses the connection (too many connections, starting up), because the server is then alive.
 */
async function isWorkingOn(config: pg.ClientConfig, processId: number): Promise<boolean> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: CHECK_MS, query_timeout: CHECK_MS })
  client.on('error', ignore)
  try {
    await client.connect()
    const { rowCount } = await client.query(
      "select 1 from pg_stat_activity where pid = $1 and usename = current_user and state = 'active'",
      [processId],
    )
    return rowCount === 1
  } catch (error) {
    return error instanceof pg.DatabaseError
  } finally {
    void client.end().catch(ignore)
  }
}

function processIdOf(client: pg.ClientBase): number {
  // The server sends the process id when the connection opens. The published types of `pg` lack this field.
  return (client as unknown as { readonly processID: number | null }).processID ?? 0
}

function rethrow(error: unknown): never {
  throw unlessUnavailable(error)
}

function ignore(): void {}
