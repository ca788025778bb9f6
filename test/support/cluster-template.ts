import { execFileSync } from 'node:child_process'
import { createHash, randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dataFolder } from '../../controlplane/cli/state/data-folder.ts'
import { postgresAccount } from '../../controlplane/cli/postgres/account.ts'
import { installedBinaries, reachableBinaries } from '../../controlplane/cli/postgres/binaries.ts'
import { ensureCluster } from '../../controlplane/cli/postgres/cluster.ts'

const ROOT = join(import.meta.dirname, '../..')
const CACHE = join(ROOT, 'node_modules/.cache/chaperone/test-clusters')
/** Of the role in every such cluster. */
export const SEED_PASSWORD = 'templateOfTheTests'

/**
 * Gives a new data folder the PostgreSQL that its first start would make, by the same code, but made once for all tests:
 * a copy takes a twentieth of the time. What a first start does is tested where nothing was put there (`test/up`).
 */
export function seedCluster(data: string): void {
  const folder = dataFolder(data)
  mkdirSync(folder.keys, { recursive: true, mode: 0o700 })
  seedPostgres(folder.postgres)
  writeFileSync(folder.postgresPassword, SEED_PASSWORD, { mode: 0o600 })
}

/** The same, of the folder of the PostgreSQL alone. */
export function seedPostgres(dir: string): void {
  execFileSync('cp', ['-a', embedded(), dir])
}

function embedded(): string {
  const installed = installedBinaries()
  const code = readFileSync(join(ROOT, 'controlplane/cli/postgres/cluster.ts'))
  return madeOnce(`${installed.version}-${digest(code)}`, (draft) => {
    const account = postgresAccount(draft)
    ensureCluster(draft, SEED_PASSWORD, { binaries: reachableBinaries(installed, account), account })
  })
}

/** The folder that `make` fills, made once for each key and account; several tests may ask at the same time. */
export function madeOnce(key: string, make: (draft: string) => void): string {
  const made = join(CACHE, `${key}-${process.getuid?.() ?? 0}`)
  if (existsSync(made)) return made
  const draft = join(CACHE, `.draft-${randomUUID()}`, 'cluster')
  mkdirSync(dirname(draft), { recursive: true })
  make(draft)
  try {
    renameSync(draft, made)
  } catch (error) {
    // Another test was faster.
    if (!existsSync(made)) throw error
  }
  rmSync(dirname(draft), { recursive: true, force: true })
  return made
}

export function digest(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex').slice(0, 12)
}
