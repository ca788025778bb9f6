import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { deriveKey, type MasterKeys, masterKeyId, sealingKeyOf } from './master-keys.ts'
import type { Sealed } from './sealed.ts'

export type Keyring = {
  /** Id of the master key that encrypts new secrets. */
  readonly id: string
  /**
   * Encrypts a secret. The row's id is additional authenticated data, so that the secret cannot be decrypted in another
   * row.
   */
  seal(secret: string, rowId: string): Sealed
  /**
   * Decrypts a secret. Throws when the keyring does not have the master key that encrypted the secret, when the
   * secret was encrypted for another row id, and when bytes were modified.
   */
  open(sealed: Sealed, rowId: string): string
  /**
   * Derives 32 bytes for a purpose with HKDF. Every process of the installation derives the same bytes, also after a
   * rotation of the master key.
   */
  derive(purpose: string): Buffer
}

/** Keyring whose master keys can be replaced while the process runs. */
export type RotatingKeyring = Keyring & {
  /** Ids of the keys that decrypt secrets, in the order of the master key file: the newest key is the last. */
  readonly keyIds: readonly [string, ...string[]]
  /** Whether the keyring decrypts with more than one key. */
  readonly hasSeveralKeys: boolean
  /**
   * Replaces the keys by those of the master key file. The replaced keys still decrypt secrets until the process
   * ends. Throws for a file with another root key.
   */
  reload(keys: MasterKeys): void
  /** Encrypts new secrets with this key. Throws for a key that the keyring does not have. */
  sealWith(keyId: string): void
}

const ALGORITHM = 'aes-256-gcm'
const TAG_BYTES = 16

/**
 * Creates the keyring of the master keys. The oldest key encrypts new secrets until `sealWith` selects another key.
 *
 * @param given Master keys, or a single master key of 32 random bytes.
 */
export function createKeyring(given: Buffer | MasterKeys): RotatingKeyring {
  let file = Buffer.isBuffer(given) ? singleKey(given) : given
  const known = new Map<string, Buffer>()
  const idsOf = ({ keys }: MasterKeys) => {
    const [oldest, ...later] = keys.map((key) => masterKeyId(key))
    return [oldest as string, ...later] as const
  }
  const learn = () => {
    for (const key of file.keys) known.set(masterKeyId(key), sealingKeyOf(key))
  }
  learn()
  let keyIds = idsOf(file)
  let sealingId = keyIds[0]
  const keyOf = (id: string): Buffer => {
    const key = known.get(id)
    if (key === undefined) throw new Error(missingKey(id, keyIds))
    return key
  }
  return {
    get id() {
      return sealingId
    },
    get keyIds() {
      return keyIds
    },
    get hasSeveralKeys() {
      return known.size > 1
    },
    seal: (secret, rowId) => seal(secret, { id: sealingId, key: keyOf(sealingId), rowId }),
    open: (sealed, rowId) => open(sealed, keyOf(sealed.key_id), rowId),
    derive: (purpose) => deriveKey(file.root, purpose),
    reload(keys) {
      if (!keys.root.equals(file.root))
        throw new Error(
          'The first key of the master key file has changed, but the certificate authorities are derived from it. Restore the former file, and add new keys at its end.',
        )
      file = keys
      keyIds = idsOf(keys)
      learn()
    },
    sealWith(keyId) {
      keyOf(keyId)
      sealingId = keyId
    },
  }
}

function singleKey(key: Buffer): MasterKeys {
  if (key.length !== 32) throw new Error(`A master key must have 32 bytes, but this one has ${key.length}.`)
  return { root: key, keys: [key] }
}

type Sealing = { readonly id: string; readonly key: Buffer; readonly rowId: string }

function seal(secret: string, { id, key, rowId }: Sealing): Sealed {
  const nonce = randomBytes(12)
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(rowId),
  )
  const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
  return { key_id: id, nonce: nonce.toString('base64'), ciphertext: body.toString('base64') }
}

function open({ nonce, ciphertext }: Sealed, key: Buffer, rowId: string): string {
  const body = Buffer.from(ciphertext, 'base64')
  const iv = Buffer.from(nonce, 'base64')
  const decipher = createDecipheriv(ALGORITHM, key, iv, { authTagLength: TAG_BYTES }).setAAD(
    Buffer.from(rowId),
  )
  decipher.setAuthTag(body.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
}

function missingKey(id: string, has: readonly string[]): string {
  return `Stored secrets are encrypted with master key ${id}, but this process has ${has.join(' and ')}. Start with the master key of this database: add key ${id} to the master key file (MASTER_KEY_FILE).`
}
