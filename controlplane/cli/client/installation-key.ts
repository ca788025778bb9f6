import { randomBytes } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { InstallationKey } from '../../../core/wire/access/installation-proof.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { realFolderPath } from '../state/folder-ownership.ts'
import { readStateJson, removeStateFile, stateHome, writeStateFile } from '../state/state-home.ts'

/**
 * Returns the path of the installation key of this data folder, with which commands authenticate the installation's
 * servers. Creates a missing key. Removes the keys of data folders that no longer exist.
 */
export function ensureInstallationKey(env: NodeJS.ProcessEnv, root: string): string {
  removeOrphans(env)
  if (installationKey(env, root) === undefined) {
    const made: InstallationKey = { folder: realFolderPath(root), key: randomBytes(32).toString('base64url') }
    writeStateFile(env, fileOf(root), `${JSON.stringify(made)}\n`)
  }
  return join(stateHome(env), fileOf(root))
}

/** Returns the installation key for this data folder; undefined when this user has not started the installation. */
export function installationKey(env: NodeJS.ProcessEnv, root: string): InstallationKey | undefined {
  const key = keyIn(env, fileOf(root))
  return key?.folder === realFolderPath(root) ? key : undefined
}

/**
 * Returns the installation key for this data folder. Throws `conflict` when this user has not started the
 * installation.
 */
export function requireInstallationKey(env: NodeJS.ProcessEnv, root: string): InstallationKey {
  const key = installationKey(env, root)
  if (key !== undefined) return key
  throw new ChaperoneError('conflict', {
    detail:
      `Your home folder has no installation key for ${root}. No credential was sent, because any program could listen on its port.\n` +
      `If the data folder is yours, restart Chaperone as this user with the same HOME: chaperone up --data ${root}`,
  })
}

/** Returns the data folders of the installations that this user has started. */
export function installationFolders(env: NodeJS.ProcessEnv): readonly string[] {
  return keysOf(env).map(({ key }) => key.folder)
}

export function removeInstallationKey(env: NodeJS.ProcessEnv, root: string): void {
  removeStateFile(env, fileOf(root))
}

const KEY_FILE = /^installation-[0-9a-f]{32}\.json$/

function fileOf(root: string): string {
  return `installation-${sha256(realFolderPath(root)).toString('hex').slice(0, 32)}.json`
}

function removeOrphans(env: NodeJS.ProcessEnv): void {
  for (const { name, key } of keysOf(env)) {
    if (statSync(key.folder, { throwIfNoEntry: false }) === undefined) {
      removeStateFile(env, name)
    }
  }
}

function keysOf(env: NodeJS.ProcessEnv) {
  const names = readdirSync(stateHome(env)).filter((entry) => KEY_FILE.test(entry))
  return names.flatMap((name) => {
    const key = keyIn(env, name)
    return key === undefined ? [] : [{ name, key }]
  })
}

/**
 * Reads an installation key from the state folder. Returns undefined for a damaged file, because the next start
 * replaces this file.
 */
function keyIn(env: NodeJS.ProcessEnv, name: string): InstallationKey | undefined {
  return readStateJson(env, name, InstallationKey)
}
