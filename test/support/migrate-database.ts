import { pino } from 'pino'
import { migrate } from '../../controlplane/db/migrate.ts'
import { openDb } from '../../controlplane/db/open.ts'

/** Migrates the database to the product's current schema with the product's code. */
export async function migrateDatabase(url: string): Promise<void> {
  const db = await openDb({ url, log: pino({ level: 'silent' }), max: 1 })
  try {
    await migrate(db)
  } finally {
    await db.close()
  }
}
