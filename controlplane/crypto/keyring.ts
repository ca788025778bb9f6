import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Sealed } from './sealed.ts'

export type Keyring = {
  /**
   * Id of the master key, 12 hexadecimal digits. The id is stored with each secret. The master key cannot be derived
   * from its id.
   */
  readonly id: string
  /**
   * Encrypts a secret. The row's id is additional authenticated data, so that the secret cannot be decrypted in another
   * row.
   */
  seal(secret: string, rowId: string): Sealed
  /** Decrypts a secret. Throws for another master key, another row id or modified bytes. */
  open(sealed: Sealed, rowId: string): string
  /** Derives 32 bytes for a purpose with HKDF. Every process with this master key derives the same bytes. */
  derive(purpose: string): Buffer
}

const ALGORITHM = 'aes-256-gcm'
const TAG_BYTES = 16

/**
 * Creates the keyring of a master key.
 *
 * @param masterKey 32 random bytes.
 */
export function createKeyring(masterKey: Buffer): Keyring {
  if (masterKey.length !== 32)
    throw new Error(`A master key must have 32 bytes, but this one has ${masterKey.length}.`)
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `chaperone ${purpose}`, 32))
  const key = derive('secrets at rest')
  const keyId = createHash('sha256').update(key).digest('hex').slice(0, 12)
  return {
    id: keyId,
    seal(secret, rowId) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(rowId),
      )
      const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return { key_id: keyId, nonce: nonce.toString('base64'), ciphertext: body.toString('base64') }
    },
    open(sealed, rowId) {
      if (sealed.key_id !== keyId) {
        throw new Error(
          `A stored secret is encrypted with master key ${sealed.key_id}, but this process has ${keyId}. Start with the master key of this database.`,
        )
      }
      const body = Buffer.from(sealed.ciphertext, 'base64')
      const nonce = Buffer.from(sealed.nonce, 'base64')
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(rowId),
      )
      decipher.setAuthTag(body.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
    },
    derive,
  }
}
