import { existsSync, readFileSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { type MasterKeys, masterKeyId, parseMasterKeys } from '../../crypto/master-keys.ts'
import type { DataFolder } from '../state/data-folder.ts'

/**
 * The keys of a master key file with their ids. The database stores, with each encrypted secret, the id of its key.
 */
export type NamedKeys = {
  /** Ids of the keys that decrypt the secrets in the database. The newest key is the last. */
  readonly ids: readonly string[]
  /** Id of the key from which other keys, such as those of the certificate authorities, are derived. */
  readonly rootId: string
  readonly content: MasterKeys
}

/** Returns the master keys from MASTER_KEY or MASTER_KEY_FILE; null when neither is set. */
export function environmentKey(env: NodeJS.ProcessEnv): NamedKeys | null {
  const { MASTER_KEY: value, MASTER_KEY_FILE: file } = env
  if (value) return namedKeys(value, 'MASTER_KEY')
  return file ? fileKey(file, 'MASTER_KEY_FILE') : null
}

/**
 * Returns the master keys, which encrypt the secrets in the database. Throws `conflict` when the keys cannot be read.
 */
export function installationKey(folder: DataFolder, env: NodeJS.ProcessEnv): NamedKeys {
  return environmentKey(env) ?? fileKey(folder.masterKey, 'The master key')
}

/**
 * Reads master keys from a file. Throws `conflict` when the file is missing or malformed.
 *
 * @param origin Subject of the error text: the source of the key, for example `The backup`.
 */
export function fileKey(file: string, origin: string): NamedKeys {
  if (!existsSync(file)) throw conflict(`${origin}: ${file} does not exist.`)
  return namedKeys(readFileSync(file, 'utf8'), `${origin} (${file})`)
}

/** Parses the text of a master key file. Throws `conflict` when the text is malformed. */
export function namedKeys(text: string, origin: string): NamedKeys {
  try {
    const content = parseMasterKeys(text, origin)
    return { ids: content.keys.map(masterKeyId), rootId: masterKeyId(content.root), content }
  } catch (cause) {
    throw conflict(cause instanceof Error ? `${cause.message}.` : String(cause))
  }
}

function conflict(detail: string): ChaperoneError {
  return new ChaperoneError('conflict', { detail })
}
