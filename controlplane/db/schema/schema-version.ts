import type { Query } from '../query.ts'

export type AppliedMigration = {
  readonly number: number
  /** Version of the program that applied the migration. Null in databases of development versions before 0.1.0. */
  readonly version: string | null
}

/** Returns the applied migrations; empty for an unused database. */
export async function appliedMigrations(q: Query): Promise<readonly AppliedMigration[]> {
  const { rows: found } = await q.query<{ isUsed: boolean }>(
    `select to_regclass('public.schema_migrations') is not null as "isUsed"`,
  )
  if (found[0]?.isUsed !== true) return []
  const { rows } = await q.query<AppliedMigration>(
    "select number, to_jsonb(m) ->> 'version' as version from schema_migrations m order by number",
  )
  return rows
}

export type SchemaCheck = {
  readonly applied: readonly AppliedMigration[]
  /** Numbers of the migrations that this program contains. */
  readonly known: ReadonlySet<number>
  /** Version of this program. */
  readonly version: string
}

/**
 * Returns the applied migrations that this program does not contain. Throws when such a migration belongs to a version
 * later than the next minor version. Only programs of the minor version of a schema, and of the minor version before,
 * can use the schema.
 */
export function laterMigrations({ applied, known, version }: SchemaCheck): readonly AppliedMigration[] {
  const later = applied.filter(({ number }) => !known.has(number))
  const newest = later.at(-1)
  if (newest === undefined || later.every((migration) => isUsable(migration.version, version))) return later
  if (newest.version === null) {
    throw new Error(
      `The database has schema ${newest.number} of a development version. Chaperone ${version} cannot migrate it. Set DATABASE_URL to an empty database, or start with an empty data folder.`,
    )
  }
  const { major, minor } = parsed(version)
  throw new Error(
    `The database was migrated by Chaperone ${newest.version} to schema ${newest.number}. Chaperone ${version} can use databases of versions up to ${major}.${minor + 1}. Start Chaperone ${newest.version}, or set DATABASE_URL to another database.`,
  )
}

function isUsable(ofMigration: string | null, ofProgram: string): boolean {
  if (ofMigration === null) return false
  const later = parsed(ofMigration)
  const own = parsed(ofProgram)
  return later.major === own.major && later.minor <= own.minor + 1
}

function parsed(version: string): { readonly major: number; readonly minor: number } {
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10))
  return { major, minor }
}
