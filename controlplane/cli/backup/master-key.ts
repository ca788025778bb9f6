import { existsSync, readFileSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { createKeyring } from '../../crypto/keyring.ts'
import { parseMasterKey } from '../../crypto/secret-files.ts'
import type { DataFolder } from '../state/data-folder.ts'

/** A master key and its id. The database stores the id with each secret that the key encrypts. */
export type NamedKey = { readonly id: string; readonly bytes: Buffer }

/** Returns the master key from MASTER_KEY or MASTER_KEY_FILE; null when neither is set. */
export function environmentKey(env: NodeJS.ProcessEnv): NamedKey | null {
  const { MASTER_KEY: value, MASTER_KEY_FILE: file } = env
  if (value) return parseNamedKey(value, 'MASTER_KEY')
  return file ? fileKey(file, 'MASTER_KEY_FILE') : null
}

/** Returns the master key, which encrypts the secrets of this installation. Throws `conflict` when the key cannot be read. */
export function installationKey(folder: DataFolder, env: NodeJS.ProcessEnv): NamedKey {
  return environmentKey(env) ?? fileKey(folder.masterKey, 'The master key')
}

/**
 * Reads a master key from a file. Throws `conflict` when the file is missing or malformed.
 *
 * @param origin Subject of the error text: the source of the key, for example `The backup`.
 */
export function fileKey(file: string, origin: string): NamedKey {
  if (!existsSync(file)) throw conflict(`${origin}: ${file} does not exist.`)
  return parseNamedKey(readFileSync(file, 'utf8'), `${origin} (${file})`)
}

function parseNamedKey(text: string, origin: string): NamedKey {
  try {
    const bytes = parseMasterKey(text, origin)
    return { id: createKeyring(bytes).id, bytes }
  } catch (cause) {
    throw conflict(cause instanceof Error ? `${cause.message}.` : String(cause))
  }
}

function conflict(detail: string): ChaperoneError {
  return new ChaperoneError('conflict', { detail })
}
