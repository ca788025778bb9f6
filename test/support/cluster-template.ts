import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { postgresAccount } from '../../controlplane/cli/postgres/account.ts'
import { installedBinaries, reachableBinaries } from '../../controlplane/cli/postgres/binaries.ts'
import { ensureCluster } from '../../controlplane/cli/postgres/cluster.ts'
import { startEmbeddedPostgres } from '../../controlplane/cli/postgres/embedded-postgres.ts'
import { dataFolder } from '../../controlplane/cli/state/data-folder.ts'
import { migrateDatabase } from './migrate-database.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache/chaperone/test-clusters')
/** Password of the role in every cluster that these functions create. */
export const SEED_PASSWORD = 'templateOfTheTests'

/**
 * Writes the PostgreSQL cluster of a new installation, with a migrated database, to a data folder. The cluster is created
 * once with the product's code and then copied, which takes a twentieth of the time of a first start. The tests in `test/up`
 * cover a first start without this cluster.
 */
export async function seedCluster(data: string): Promise<void> {
  const folder = dataFolder(data)
  mkdirSync(folder.keys, { recursive: true, mode: 0o700 })
  await seedMigratedPostgres(folder.postgres)
  writeFileSync(folder.postgresPassword, SEED_PASSWORD, { mode: 0o600 })
}

/** Copies the migrated PostgreSQL cluster to `dir`. */
export async function seedMigratedPostgres(dir: string): Promise<void> {
  execFileSync('cp', ['-a', await migratedCluster(), dir])
}

/** Copies an initialized PostgreSQL cluster without the product's schema to `dir`. */
export function seedPostgres(dir: string): void {
  execFileSync('cp', ['-a', emptyCluster(), dir])
}

const CODE = join(ROOT, 'controlplane/cli/postgres/cluster.ts')
const MIGRATE = join(ROOT, 'controlplane/db/schema/migrate.ts')
const MIGRATIONS = join(ROOT, 'controlplane/db/schema/migrations')

function emptyCluster(): string {
  const installed = installedBinaries()
  return madeOnce(`${installed.version}-${digest(readFileSync(CODE))}`, (draft) => {
    const account = postgresAccount(draft)
    ensureCluster(draft, SEED_PASSWORD, { binaries: reachableBinaries(installed, account), account })
  })
}

/** Returns the folder of the migrated cluster. Creates the cluster when the cache has none for the current migrations. */
export async function migratedCluster(): Promise<string> {
  const names = readdirSync(MIGRATIONS).sort()
  const schema = names.map((name) => `${name}\n${readFileSync(join(MIGRATIONS, name), 'utf8')}`)
  const content = [readFileSync(CODE, 'utf8'), readFileSync(MIGRATE, 'utf8'), ...schema].join('\n')
  const { made, draft } = placesOf(`${installedBinaries().version}-migrated-${digest(content)}`)
  if (existsSync(made)) return made
  seedPostgres(draft)
  const logFile = join(dirname(draft), 'postgres.log')
  const password = { value: SEED_PASSWORD, isNew: false }
  const server = await startEmbeddedPostgres({ dir: draft, password, logFile })
  try {
    await migrateDatabase(server.url)
  } finally {
    await server.stop()
  }
  return publish(draft, made)
}

/**
 * Returns the folder in `cache` for the key and the current uid. Fills a missing folder with `make`. Several test processes may
 * call this function at the same time.
 */
export function madeOnce(key: string, make: (draft: string) => void, cache = CACHE): string {
  const { made, draft } = placesOf(key, cache)
  if (existsSync(made)) return made
  make(draft)
  return publish(draft, made)
}

type Places = { readonly made: string; readonly draft: string }

function placesOf(key: string, cache = CACHE): Places {
  const made = join(cache, `${key}-${process.getuid?.() ?? 0}`)
  const draft = join(cache, `.draft-${randomUUID()}`, 'cluster')
  if (!existsSync(made)) mkdirSync(dirname(draft), { recursive: true })
  return { made, draft }
}

function publish(draft: string, made: string): string {
  try {
    renameSync(draft, made)
  } catch (error) {
    // The folder exists when another test process has created it first.
    if (!existsSync(made)) throw error
  }
  rmSync(dirname(draft), { recursive: true, force: true })
  return made
}

export function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 12)
}
