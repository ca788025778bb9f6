import pg from 'pg'
import { startPostgres, type TestDatabase, type TestPostgres } from './postgres.ts'

let shared: Promise<TestPostgres> | undefined

/**
 * The PostgreSQL of this test worker. Starting a server costs more CPU time than most test files, and a worker runs one
 * file at a time: nothing else uses the server meanwhile. `stop` drops the databases made through this handle. The
 * server ends with the worker. A test that stops or freezes the server itself starts its own by `startPostgres`.
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

/** Connections that a test left open end with their database, as they would with the server. */
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
