import pg from 'pg'
import type { Logger } from 'pino'
import { ignore, watchStatement } from './statement-watch.ts'
import { unlessUnavailable, writeRefusal } from './unavailable.ts'

/** Connection pool that detects and closes hung connections. */
export type ConnectionPool = {
  /**
   * Runs `work` on one connection. Afterwards, closes the connection if it is broken or hung, and returns it to the
   * pool otherwise.
   */
  use<T>(work: (statements: Statements) => Promise<T>): Promise<T>
  /** Returns the milliseconds since the server last reported a full disk; infinite when it never did. */
  msSinceFullDisk(): number
  close(): Promise<void>
}

export type Statements = {
  run(statement: string | pg.QueryConfig): Promise<pg.QueryResult>
  /** Marks the connection to be closed after use, because its state is unknown. */
  discard(error: Error): void
}

export type ConnectionPoolOptions = {
  readonly config: pg.ClientConfig
  /** True when the connections lead to a connection pooler, which assigns a server connection to each transaction. */
  readonly isPooled: boolean
  readonly max: number
  /** Milliseconds without an answer after which the pool checks a statement. */
  readonly hangMs: number
  /** Timeout in milliseconds for a new or a free connection. */
  readonly connectMs: number
  /** Statement timeout in milliseconds. */
  readonly statementMs: number
  readonly log: Logger
}

/**
 * Creates the connection pool. After a failover that drops packets, a connection hangs until the kernel stops
 * retransmitting (typically 15 minutes). A timeout alone cannot distinguish a hung connection from a connection with
 * a slow statement. Therefore, a second connection checks whether the server still executes the statement
 * (`pg_stat_activity`). If not, the pool closes the connection and replaces all other connections, because they lead
 * to the same server. The pool also replaces its connections when the server refuses writes, because after a failover
 * the old primary can be a read-only standby.
 */
export function createConnectionPool(options: ConnectionPoolOptions): ConnectionPool {
  const { log, hangMs } = options
  let current: Generation = { pool: createPool(options), waiting: new Set() }
  let replacedAtMs = Number.NEGATIVE_INFINITY
  let fullAtMs = Number.NEGATIVE_INFINITY

  function replace(own: Generation, why: Readonly<Record<string, unknown>>): void {
    if (current !== own) return
    log.warn(why, 'all database connections are replaced')
    replacedAtMs = performance.now()
    current = { pool: createPool(options), waiting: new Set() }
    void own.pool.end()
    for (const leave of own.waiting) leave()
  }

  function noteRefusal(error: unknown, own: Generation): void {
    const refusal = writeRefusal(error)
    if (refusal === 'full disk') fullAtMs = performance.now()
    const isDue = performance.now() - replacedAtMs > READ_ONLY_MS
    if (refusal === 'read-only' && isDue) replace(own, { reason: 'the server is read-only' })
  }

  function statementsOn(client: pg.PoolClient, own: Generation, discard: Discard): Statements {
    return {
      discard,
      async run(statement) {
        const guard = watchStatement({ client, text: textOf(statement) }, options, () => {
          discard(new Error('the connection hangs'))
          replace(own, { reason: 'a connection hangs', hung_ms: hangMs })
        })
        try {
          return await client.query(statement)
        } catch (error) {
          noteRefusal(error, own)
          throw error
        } finally {
          guard[Symbol.dispose]()
        }
      },
    }
  }

  return {
    async use(work) {
      const [client, own] = await acquire(() => current).catch(rethrow)
      let broken: Error | undefined
      const discard: Discard = (error) => {
        broken = error
      }
      try {
        return await work(statementsOn(client, own, discard))
      } finally {
        client.release(broken)
      }
    },
    msSinceFullDisk: () => performance.now() - fullAtMs,
    close: () => current.pool.end(),
  }
}

/**
 * A connection pool, and the callers that wait for one of its connections. When the pool is replaced, these
 * callers request a connection from the next pool.
 */
type Generation = { readonly pool: pg.Pool; readonly waiting: Set<() => void> }
type Discard = (error: Error) => void

async function acquire(current: () => Generation): Promise<readonly [pg.PoolClient, Generation]> {
  for (;;) {
    const own = current()
    const client = await connectUnlessReplaced(own)
    if (client !== null) return [client, own]
  }
}

/** Resolves with a connection of the pool; null when the pool is replaced before a connection is free. */
function connectUnlessReplaced({ pool, waiting }: Generation): Promise<pg.PoolClient | null> {
  return new Promise((resolve, reject) => {
    const leave = () => {
      waiting.delete(leave)
      resolve(null)
    }
    waiting.add(leave)
    pool.connect().then(
      (client) => (waiting.delete(leave) ? resolve(client) : client.release(true)),
      (error: unknown) => {
        waiting.delete(leave)
        reject(error)
      },
    )
  })
}

/** Maximum lifetime of a connection in seconds. Only a new connection resolves the host name of the server again. */
const LIFETIME_S = 1_800
/**
 * Maximum time in milliseconds to open a connection. When a SYN packet is dropped during a failover, TCP repeats the
 * packet after 1 s and after 3 s.
 */
const DIAL_MS = 4_000

function createPool({ config, isPooled, max, connectMs, statementMs, log }: ConnectionPoolOptions): pg.Pool {
  // Behind a pooler, no limits are sent at the start of a connection, because a pooler rejects unknown startup
  // parameters.
  const limits = isPooled ? {} : sessionLimits(statementMs)
  class Client extends pg.Client {
    constructor() {
      super({ ...config, ...limits, connectionTimeoutMillis: Math.min(connectMs, DIAL_MS) })
      // A connection may break between two statements, or while the pool passes it to a caller. Without a listener,
      // the error would end the process. The pool closes such a connection when the caller releases it.
      this.on('error', ignore)
    }
  }
  const pool = new pg.Pool({
    Client,
    max,
    connectionTimeoutMillis: connectMs,
    idleTimeoutMillis: 60_000,
    maxLifetimeSeconds: LIFETIME_S,
  })
  pool.on('error', (error) => log.warn({ err: error }, 'idle database connection lost'))
  return pool
}

/** Limits of a statement and of the pause between two statements of a transaction, in milliseconds. */
export function sessionLimits(statementMs: number) {
  return { statement_timeout: statementMs, idle_in_transaction_session_timeout: 60_000 } as const
}

/** Minimum number of milliseconds between two replacements of the connections to a server that refuses writes. */
const READ_ONLY_MS = 1_000

function textOf(statement: string | pg.QueryConfig): string {
  return typeof statement === 'string' ? statement : statement.text
}

function rethrow(error: unknown): never {
  throw unlessUnavailable(error)
}
