import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve, sep } from 'node:path'
import { ChaperoneError } from '../../../core/errors.ts'
import { masterKeysText } from '../../crypto/master-keys.ts'
import type { DataFolder } from '../state/data-folder.ts'
import type { ArchiveEntry } from './archive.ts'
import type { NamedKeys } from './master-key.ts'

type FileLine = Extract<ArchiveEntry, { kind: 'file' }>

/** Path of the master key, relative to the data folder. */
export const MASTER_KEY_PATH = 'keys/master.key'

/**
 * Returns the file entries of a backup: tokens, certificates, private keys, the agents' ports and the manifests. The
 * master key is not among these entries.
 */
export function* installationFiles(folder: DataFolder): Generator<FileLine> {
  const single = [folder.caCert, folder.caBundle, folder.adminToken, folder.gatewayToken]
  const ports = join(folder.gateway, 'ports.json')
  const files = [...single, ports, ...filesBelow(folder.keys), ...filesBelow(folder.manifests)]
  for (const file of files) {
    // Skips the master key file, and an unfinished copy that a killed command may have left beside it.
    if (!existsSync(file) || file.startsWith(folder.masterKey)) continue
    yield {
      kind: 'file',
      path: relative(folder.root, file).split(sep).join('/'),
      mode: statSync(file).mode & 0o777,
      base64: readFileSync(file).toString('base64'),
    }
  }
}

/** Returns the master keys as a file entry of a backup. */
export function masterKeyEntry({ content }: NamedKeys): FileLine {
  const text = masterKeysText(content)
  return { kind: 'file', path: MASTER_KEY_PATH, mode: 0o600, base64: Buffer.from(text).toString('base64') }
}

/** Writes a file entry of a backup to the data folder. Throws `conflict` for a path outside the folder. */
export function restoreFile(folder: DataFolder, { path, mode, base64 }: FileLine): void {
  const file = resolve(folder.root, path)
  if (!file.startsWith(folder.root + sep)) {
    throw new ChaperoneError('conflict', {
      detail: `The backup contains ${path}, which is outside the data folder. The backup may have been manipulated, so nothing was restored. Use another backup.`,
    })
  }
  const isPrivate = [folder.keys, folder.manifests].some((dir) => file.startsWith(dir + sep))
  mkdirSync(dirname(file), { recursive: true, mode: isPrivate ? 0o700 : 0o755 })
  writeFileSync(file, Buffer.from(base64, 'base64'), { mode, flag: 'wx', flush: true })
  chmodSync(file, mode)
}

function filesBelow(dir: string): string[] {
  if (!existsSync(dir)) return []
  return readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}
