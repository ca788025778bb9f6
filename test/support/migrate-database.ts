import { pino } from 'pino'
import { createIndexBuilder } from '../../controlplane/db/index-builder.ts'
import { migrate } from '../../controlplane/db/migrate.ts'
import { openDb } from '../../controlplane/db/open.ts'

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
