import pg from 'pg'

type Watched = { readonly client: pg.ClientBase; readonly text: string }

type StatementWatchOptions = {
  readonly config: pg.ClientConfig
  /** True when the connections lead to a connection pooler, which assigns a server connection to each transaction. */
  readonly isPooled: boolean
  /** Milliseconds without an answer after which a statement is checked. */
  readonly hangMs: number
}

/**
 * Checks at intervals whether the server still executes a statement, and ends the client when the server does not.
 * Calls `onHung` before it ends the client.
 */
export function watchStatement(
  { client, text }: Watched,
  { config, hangMs, isPooled }: StatementWatchOptions,
  onHung: () => void,
): Disposable {
  let isOver = false
  const check = async () => {
    const isWorking = await isWorkingOn(config, isPooled ? { text } : { processId: processIdOf(client) })
    if (isOver) return
    if (isWorking) {
      timer = setTimeout(check, hangMs)
      return
    }
    onHung()
    // `end` destroys the socket of a client that executes a statement. The promise of the statement then
    // rejects.
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

const CHECK_MS = 3_000
/**
 * Number of characters of a statement that are compared. `pg_stat_activity` shows 1,023 bytes with the default
 * `track_activity_query_size`.
 */
const SHOWN = 900

/**
 * Returns whether the server still executes the statement. Returns false when the server does not answer. Returns
 * true when the server refuses the connection (too many connections, starting up), because the server has then
 * answered. Behind a pooler, the process id of the client does not identify a server process, so the server process
 * is found by the text of its statement.
 */
async function isWorkingOn(
  config: pg.ClientConfig,
  by: { readonly processId: number } | { readonly text: string },
): Promise<boolean> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: CHECK_MS, query_timeout: CHECK_MS })
  client.on('error', ignore)
  const [condition, value] =
    'text' in by
      ? [`pid <> pg_backend_pid() and left(query, ${SHOWN}) = left($1, ${SHOWN})`, by.text]
      : ['pid = $1', by.processId]
  try {
    await client.connect()
    const { rowCount } = await client.query(
      `select 1 from pg_stat_activity where ${condition} and usename = current_user and state = 'active'`,
      [value],
    )
    return (rowCount ?? 0) > 0
  } catch (error) {
    return error instanceof pg.DatabaseError
  } finally {
    void client.end().catch(ignore)
  }
}

/** Returns the id of the server process that the server sent for the connection; 0 before the connection is open. */
export function processIdOf(client: pg.ClientBase): number {
  // The server sends the process id when the connection opens. The published types of `pg` lack this field.
  return (client as unknown as { readonly processID: number | null }).processID ?? 0
}

export function ignore(): void {}
