import type { Db } from './query.ts'

export type TableStatistics = {
  /** Counts written rows, and refreshes the statistics whenever the number of written rows has doubled. */
  written(count: number): Promise<void>
}

/** Number of rows after which the statistics are refreshed for the first time. */
const FIRST = 500

/**
 * Creates the service that refreshes the statistics of tables while the tables grow. A connection keeps the plan of a
 * prepared statement until the statistics change. A plan that was made while the table was empty reads all rows, until
 * autovacuum runs a minute later.
 *
 * @param tables Names of tables, which are constants of the code.
 */
export function createTableStatistics(db: Db, tables: readonly string[]): TableStatistics {
  let total = 0
  let due = FIRST
  return {
    async written(count) {
      total += count
      if (total < due) return
      due = 2 * total
      await db.query(`analyze ${tables.join(', ')}`)
    },
  }
}
