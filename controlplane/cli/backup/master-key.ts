import { existsSync, readFileSync } from 'node:fs'
import { ChaperoneError } from '../../../core/errors.ts'
import { createKeyring } from '../../crypto/keyring.ts'
import { parseMasterKey } from '../../crypto/secret-files.ts'
import type { DataFolder } from '../state/data-folder.ts'

/** A master key with the id that the database stores beside each secret. */
export type NamedKey = { readonly id: string; readonly bytes: Buffer }

/** The key of MASTER_KEY or MASTER_KEY_FILE, as the control plane reads them; null when neither is set. */
export function environmentKey(env: NodeJS.ProcessEnv): NamedKey | null {
  const { MASTER_KEY: value, MASTER_KEY_FILE: file } = env
  if (value) return named(value, 'MASTER_KEY')
  return file ? fileKey(file, 'MASTER_KEY_FILE') : null
}

/** The key that this installation encrypts with. Throws `conflict` when it cannot be read. */
export function installationKey(folder: DataFolder, env: NodeJS.ProcessEnv): NamedKey {
  return environmentKey(env) ?? fileKey(folder.masterKey, 'The master key')
}

/** `origin` begins the sentence of an error. */
export function fileKey(file: string, origin: string): NamedKey {
  if (!existsSync(file)) throw conflict(`${origin}: there is no file ${file}.`)
  return named(readFileSync(file, 'utf8'), `${origin} (${file})`)
}

export function named(text: string, origin: string): NamedKey {
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
