import pg from 'pg'
import { startPostgres, type TestDatabase, type TestPostgres } from './postgres.ts'

let shared: Promise<TestPostgres> | undefined

/**
 * Returns a handle on the PostgreSQL server of this test worker. All test files of the worker share the server, because
 * starting one costs more CPU time than most test files. A worker runs one file at a time, so no other test uses the server.
 * `stop` drops the databases that were created through this handle, and rejects if a test left a setting of a role or of the
 * server changed: it resets the setting, because databases of later files have the same roles. The server ends with the worker. A test that stops or
 * freezes the server itself must start its own with `startPostgres`.
 */
export async function workerPostgres(): Promise<TestPostgres> {
  shared ??= startPostgres()
  const server = await shared
  const made: TestDatabase[] = []
  const kept = async (making: Promise<TestDatabase>): Promise<TestDatabase> => {
    const database = await making
    made.push(database)
    return database
  }
  return {
    url: server.url,
    createDatabase: () => kept(server.createDatabase()),
    createMigratedDatabase: () => kept(server.createMigratedDatabase()),
    stop: () => clear(server.url, made.splice(0)),
  }
}

/** Drops the databases and resets settings. `force` closes the connections that a test left open. */
async function clear(url: string, databases: readonly TestDatabase[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const database of databases) {
      await client.query(`drop database ${new URL(database.url).pathname.slice(1)} with (force)`)
    }
    const changed = await resetSettings(client)
    if (changed.length > 0)
      throw new Error(
        `The test file changed settings of the PostgreSQL of its worker: ${changed.join(', ')}.`,
      )
  } finally {
    await client.end()
  }
}

/** Settings of roles and of the server (`alter role`, `alter system`) that no test may leave. */
const CHANGED = `select 'role ' || rolname || ': ' || array_to_string(setconfig, ', ') as setting,
    format('alter role %I reset all', rolname) as reset
  from pg_db_role_setting join pg_roles on pg_roles.oid = setrole where setdatabase = 0
  union all
  select 'server: ' || name, format('alter system reset %I', name) from pg_file_settings
  where sourcefile like '%postgresql.auto.conf'`

async function resetSettings(client: pg.Client): Promise<readonly string[]> {
  const { rows } = await client.query<{ setting: string; reset: string }>(CHANGED)
  for (const { reset } of rows) await client.query(reset)
  if (rows.length > 0) await client.query('select pg_reload_conf()')
  return rows.map(({ setting }) => setting)
}
