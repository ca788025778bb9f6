import { pino } from 'pino'
import { migrate } from '../../controlplane/db/migrate.ts'
import { openDb } from '../../controlplane/db/open.ts'

/** Brings the database to the schema of the product, by the product's own code. */
export async function migrateDatabase(url: string): Promise<void> {
  const db = await openDb({ url, log: pino({ level: 'silent' }), max: 1 })
  try {
    await migrate(db)
  } finally {
    await db.close()
  }
}
