import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Sealed } from './sealed.ts'

export type Keyring = {
  /** 12 hexadecimal digits that name the master key without telling it; stored beside what the key encrypts. */
  readonly id: string
  /** Encrypts for storage. `place` (the row's id) is bound in: moved to another row the secret does not open. */
  seal(secret: string, place: string): Sealed
  /** Throws when the key, the place or the bytes are not the ones it was sealed with. */
  open(sealed: Sealed, place: string): string
  /** 32 bytes for one named purpose, the same in every process with this master key. */
  derive(purpose: string): Buffer
}

const ALGORITHM = 'aes-256-gcm'
const TAG_BYTES = 16

/** `masterKey`: 32 random bytes. */
export function createKeyring(masterKey: Buffer): Keyring {
  if (masterKey.length !== 32) throw new Error(`a master key has 32 bytes, this one has ${masterKey.length}`)
  const derive = (purpose: string) =>
    Buffer.from(hkdfSync('sha256', masterKey, '', `chaperone ${purpose}`, 32))
  const key = derive('secrets at rest')
  const keyId = createHash('sha256').update(key).digest('hex').slice(0, 12)
  return {
    id: keyId,
    seal(secret, place) {
      const nonce = randomBytes(12)
      const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(place),
      )
      const body = Buffer.concat([cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return { key_id: keyId, nonce: nonce.toString('base64'), ciphertext: body.toString('base64') }
    },
    open(sealed, place) {
      if (sealed.key_id !== keyId) {
        throw new Error(
          `a stored secret was encrypted with master key ${sealed.key_id}, this process has ${keyId}: start with the master key that the database was created with`,
        )
      }
      const body = Buffer.from(sealed.ciphertext, 'base64')
      const nonce = Buffer.from(sealed.nonce, 'base64')
      const decipher = createDecipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES }).setAAD(
        Buffer.from(place),
      )
      decipher.setAuthTag(body.subarray(-TAG_BYTES))
      return Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
    },
    derive,
  }
}
