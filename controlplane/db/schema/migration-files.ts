import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

/** A migration that runs before the control plane serves. `name` is the name of the file. */
export type Migration = { readonly number: number; readonly name: string; readonly sql: string }

/** A migration that only creates one index. The index is built while the control plane serves. */
export type IndexMigration = Migration & {
  readonly index: string
  readonly isUnique: boolean
  readonly table: string
  /** Text of the `create index` statement after the name of the table. */
  readonly definition: string
}

export type MigrationFiles = {
  readonly migrations: readonly Migration[]
  readonly indexes: readonly IndexMigration[]
}

const FOLDER = join(import.meta.dirname, 'migrations')
const MIGRATION = /^\d{3}-[a-z0-9-]+\.sql$/
const INDEX = /^\d{3}-[a-z0-9-]+\.index\.sql$/
const COMMENT = /^\s*--.*$/gm
const STATEMENT = /^\s*create\s+(unique\s+)?index\s+concurrently\s+(\w+)\s+on\s+(\w+)\s+([^;]+);?\s*$/i

/** Reads the migrations `NNN-<what>.sql` and `NNN-<what>.index.sql`, each list sorted by number. */
export async function readMigrations(folder = FOLDER): Promise<MigrationFiles> {
  const names = (await readdir(folder)).sort()
  const read = (pattern: RegExp) =>
    Promise.all(
      names
        .filter((name) => pattern.test(name))
        .map(async (name) => ({
          number: Number(name.slice(0, 3)),
          name,
          sql: await readFile(join(folder, name), 'utf8'),
        })),
    )
  return { migrations: await read(MIGRATION), indexes: (await read(INDEX)).map(indexOf) }
}

/** Returns the numbers of all migrations that this program contains. */
export async function knownSchemas(): Promise<readonly number[]> {
  const { migrations, indexes } = await readMigrations()
  return [...migrations, ...indexes].map(({ number }) => number)
}

function indexOf(file: Migration): IndexMigration {
  const [, unique, index, table, definition] = STATEMENT.exec(file.sql.replace(COMMENT, '')) ?? []
  if (index === undefined || table === undefined || definition === undefined) {
    throw new Error(
      `${file.name} must contain one statement of the form "create index concurrently NAME on TABLE ...;".`,
    )
  }
  return { ...file, index, isUnique: unique !== undefined, table, definition: definition.trim() }
}
