import pg from 'pg'
import { ignore, processIdOf } from './statement-watch.ts'
import { unlessUnavailable } from './unavailable.ts'

/**
 * Returns whether a connection pooler is in front of the server. When a client connects, a pooler sends a process id
 * that is not the id of the server process, because the server process may change with each transaction.
 */
export async function isBehindPooler(config: pg.ClientConfig, connectMs: number): Promise<boolean> {
  const client = new pg.Client({ ...config, connectionTimeoutMillis: connectMs, query_timeout: connectMs })
  client.on('error', ignore)
  try {
    await client.connect()
    const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() as pid')
    return rows[0]?.pid !== processIdOf(client)
  } catch (error) {
    throw unlessUnavailable(error)
  } finally {
    void client.end().catch(ignore)
  }
}
