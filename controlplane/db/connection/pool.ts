import pg from 'pg'
import type { Logger } from 'pino'
import { ignore, watchStatement } from './statement-watch.ts'
import { unlessUnavailable, writeRefusal } from './unavailable.ts'

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
  /** Timeout in milliseconds for opening a connection, and for the wait for a free connection. */
  readonly connectMs: number
  /** Statement timeout in milliseconds. */
  readonly statementMs: number
  readonly log: Logger
}

/**
 * Connection pool that detects and closes hung connections. After a failover that drops packets, a connection hangs
 * until the kernel stops retransmitting (typically 15 minutes). A timeout alone cannot distinguish a hung connection
 * from a connection with a slow statement. Therefore, a second connection checks whether the server still executes
 * the statement (`pg_stat_activity`). If not, the pool closes the connection and replaces all other connections,
 * because they lead to the same server. The pool also replaces its connections when the server refuses writes,
 * because after a failover the old primary can be a read-only standby.
 */
export class ConnectionPool {
  readonly #options: ConnectionPoolOptions
  #current: Generation
  #replacedAtMs = Number.NEGATIVE_INFINITY
  #fullAtMs = Number.NEGATIVE_INFINITY

  constructor(options: ConnectionPoolOptions) {
    this.#options = options
    this.#current = { pool: createPool(options), waiting: new Set() }
  }

  /**
   * Runs `work` on one connection. Afterwards, closes the connection if it is broken or hung, and returns it to the
   * pool otherwise.
   */
  async use<T>(work: (statements: Statements) => Promise<T>): Promise<T> {
    const [client, own] = await acquire(() => this.#current).catch(rethrow)
    let broken: Error | undefined
    const discard: Discard = (error) => {
      broken = error
    }
    try {
      return await work({ discard, run: (statement) => this.#run(statement, { client, own, discard }) })
    } finally {
      client.release(broken)
    }
  }

  /** Returns the milliseconds since the server last reported a full disk; infinite when it never did. */
  msSinceFullDisk(): number {
    return performance.now() - this.#fullAtMs
  }

  close(): Promise<void> {
    return this.#current.pool.end()
  }

  async #run(
    statement: string | pg.QueryConfig,
    { client, own, discard }: Connection,
  ): Promise<pg.QueryResult> {
    const guard = watchStatement({ client, text: textOf(statement) }, this.#options, () => {
      discard(new Error('the connection hangs'))
      this.#replace(own, { reason: 'a connection hangs', hung_ms: this.#options.hangMs })
    })
    try {
      return await client.query(statement)
    } catch (error) {
      this.#noteRefusal(error, own)
      throw error
    } finally {
      guard[Symbol.dispose]()
    }
  }

  #noteRefusal(error: unknown, own: Generation): void {
    const refusal = writeRefusal(error)
    if (refusal === 'full disk') this.#fullAtMs = performance.now()
    const isDue = performance.now() - this.#replacedAtMs > READ_ONLY_MS
    if (refusal === 'read-only' && isDue) this.#replace(own, { reason: 'the server is read-only' })
  }

  #replace(own: Generation, why: Readonly<Record<string, unknown>>): void {
    if (this.#current !== own) return
    this.#options.log.warn(why, 'all database connections are replaced')
    this.#replacedAtMs = performance.now()
    this.#current = { pool: createPool(this.#options), waiting: new Set() }
    void own.pool.end()
    for (const leave of own.waiting) leave()
  }
}

/** A connection in use. `discard` marks the connection to be closed after use. */
type Connection = { readonly client: pg.PoolClient; readonly own: Generation; readonly discard: Discard }

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
