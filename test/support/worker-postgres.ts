import pg from 'pg'
import { startPostgres, type TestDatabase, type TestPostgres } from './postgres.ts'

let shared: Promise<TestPostgres> | undefined

/**
 * Returns a handle on the PostgreSQL server of this test worker. All test files of the worker share the server, because
 * starting one costs more CPU time than most test files. A worker runs one file at a time, so no other test uses the server.
 * `stop` drops the databases that were created through this handle. The server ends with the worker. A test that stops or
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
    stop: () => dropDatabases(server.url, made.splice(0)),
  }
}

/** Drops the databases. `force` closes the connections that a test left open. */
async function dropDatabases(url: string, databases: readonly TestDatabase[]): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    for (const database of databases) {
      await client.query(`drop database ${new URL(database.url).pathname.slice(1)} with (force)`)
    }
  } finally {
    await client.end()
  }
}
