import { hkdfSync } from 'node:crypto'
import { sha256Hex } from '../../runtime/sha256.ts'

/** Content of the master key file. Each key has 32 bytes. */
export type MasterKeys = {
  /** Key from which certificate authorities and other keys are derived: the first master key of the installation. */
  readonly root: Buffer
  /** Keys that decrypt stored secrets, the oldest first. A rotation of the master key adds a key at the end. */
  readonly keys: readonly [Buffer, ...Buffer[]]
}

const ROOT = /^root\s+/

/**
 * Parses the text of a master key file: a key in each line, as 32 bytes in base64 or 64 hexadecimal digits, the
 * oldest first. The first key is the root, from which other keys are derived. If the first line begins with `root`,
 * the key of this line is only the root and decrypts no secrets.
 *
 * @param origin Name of the setting, for the error.
 */
export function parseMasterKeys(text: string, origin: string): MasterKeys {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '')
  const [first = '', ...others] = lines
  const root = keyOf(first.replace(ROOT, ''), origin)
  const added = others.map((line) => keyOf(line, origin))
  const keys = ROOT.test(first) ? added : [root, ...added]
  const [oldest, ...later] = keys
  if (oldest === undefined)
    throw new Error(
      `${origin} has the line "root" but no line with a master key. Use a complete copy of the file`,
    )
  return { root, keys: [oldest, ...later] }
}

/** Returns the text of a master key file. */
export function masterKeysText({ root, keys }: MasterKeys): string {
  const [oldest] = keys
  const lines = keys.map((key) => key.toString('base64'))
  const isRootOnly = !oldest.equals(root)
  return `${[...(isRootOnly ? [`root ${root.toString('base64')}`] : []), ...lines].join('\n')}\n`
}

/**
 * Returns the id of a master key, 12 hexadecimal digits. The id is stored with each secret. The master key cannot be
 * derived from its id.
 */
export function masterKeyId(key: Buffer): string {
  return sha256Hex(sealingKeyOf(key)).slice(0, 12)
}

/** Derives the AES key that encrypts stored secrets. */
export function sealingKeyOf(key: Buffer): Buffer {
  return deriveKey(key, 'secrets at rest')
}

/** Derives 32 bytes for a purpose with HKDF. */
export function deriveKey(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', `chaperone ${purpose}`, 32))
}

function keyOf(line: string, origin: string): Buffer {
  const isHex = /^[0-9a-fA-F]{64}$/.test(line)
  const key = isHex ? Buffer.from(line, 'hex') : Buffer.from(line, 'base64')
  if (key.length === 32) return key
  throw new Error(
    `${origin} does not contain 32 bytes in base64 or hex. Use the key with which the database was created, because stored secrets cannot be decrypted with another key. For a new installation, create a key with \`openssl rand -base64 32\``,
  )
}

/** Appends a new key. A rotation of the master key encrypts all stored secrets with this key. */
export function withNewKey({ root, keys: [oldest, ...later] }: MasterKeys, key: Buffer): MasterKeys {
  return { root, keys: [oldest, ...later, key] }
}

/** Removes all keys except the newest one. The root stays. */
export function withoutFormerKeys({ root, keys }: MasterKeys): MasterKeys {
  return { root, keys: [keys.at(-1) ?? keys[0]] }
}
