import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

/**
 * Stops all processes of a PostgreSQL server with SIGSTOP. The kernel still accepts connections, but the server answers
 * nothing until `thaw`.
 */
export async function freezePostgres(adminUrl: string): Promise<{ thaw(): void }> {
  const client = new pg.Client({ connectionString: adminUrl })
  // Ignores errors of this client, because its backend process is stopped too.
  client.on('error', () => undefined)
  await client.connect()
  const { rows: places } = await client.query<{ data_directory: string }>('show data_directory')
  const file = join(places[0]?.data_directory ?? '', 'postmaster.pid')
  const postmaster = Number(readFileSync(file, 'utf8').split('\n')[0])
  const { rows } = await client.query<{ pid: number }>('select pid from pg_stat_activity')
  // The postmaster is stopped first, so that it starts no further processes.
  const pids = [postmaster, ...rows.map(({ pid }) => pid)]
  const send = (signal: NodeJS.Signals) => {
    for (const pid of pids) {
      try {
        process.kill(pid, signal)
      } catch (error) {
        // The backend process of a short connection may have ended.
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
      }
    }
  }
  send('SIGSTOP')
  return {
    thaw() {
      send('SIGCONT')
      void client.end().catch(() => undefined)
    },
  }
}
