import { pino } from 'pino'
import { openDb } from '../../controlplane/db/open.ts'
import { createIndexBuilder } from '../../controlplane/db/schema/index-builder.ts'
import { migrate } from '../../controlplane/db/schema/migrate.ts'

/** Migrates the database to the product's current schema, indexes included, with the product's code. */
export async function migrateDatabase(url: string): Promise<void> {
  const log = pino({ level: 'silent' })
  const db = await openDb({ url, log, max: 2 })
  try {
    await migrate(db)
    await createIndexBuilder({ db, log }).done
  } finally {
    await db.close()
  }
}
