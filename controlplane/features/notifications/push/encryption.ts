import { createCipheriv, createECDH, hkdfSync, randomBytes } from 'node:crypto'

/** Keys of a subscription: the public key of the browser (P-256 point) and its authentication secret. */
export type PushKeys = { readonly p256dh: Uint8Array; readonly auth: Uint8Array }

/** Values that RFC 8291 requires to be random for each message. Tests pass the values of the example in RFC 8291. */
export type MessageRandom = { readonly privateKey?: Uint8Array; readonly salt?: Uint8Array }

const POINT_BYTES = 65
const AUTH_BYTES = 16
const SALT_BYTES = 16
const RECORD_BYTES = 4_096
const TAG_BYTES = 16

/**
 * Encrypts a message for one browser (RFC 8291) as one record of the content encoding `aes128gcm` (RFC 8188). Throws
 * for a public key that is not a point of the curve.
 *
 * @param padTo Length in bytes to which the message is padded, so that the size of the encrypted message does not
 *   depend on the content.
 */
export function encryptPush(
  message: Uint8Array,
  { p256dh, auth }: PushKeys,
  padTo = message.length,
  random: MessageRandom = {},
): Buffer {
  const own = createECDH('prime256v1')
  if (random.privateKey === undefined) own.generateKeys()
  else own.setPrivateKey(random.privateKey)
  const ownPoint = own.getPublicKey()
  const salt = random.salt ?? randomBytes(SALT_BYTES)
  const info = Buffer.concat([Buffer.from('WebPush: info\0'), p256dh, ownPoint])
  const inputKey = hkdf(own.computeSecret(p256dh), auth, info, 32)
  const key = hkdf(inputKey, salt, Buffer.from('Content-Encoding: aes128gcm\0'), 16)
  const nonce = hkdf(inputKey, salt, Buffer.from('Content-Encoding: nonce\0'), 12)
  const cipher = createCipheriv('aes-128-gcm', key, nonce, { authTagLength: TAG_BYTES })
  // The byte 2 marks the end of the message in the last record; zeros follow as padding (RFC 8188, section 2).
  const padded = Buffer.concat([message, Buffer.of(2), Buffer.alloc(Math.max(0, padTo - message.length))])
  const recordSize = Buffer.alloc(4)
  recordSize.writeUInt32BE(RECORD_BYTES)
  const header = Buffer.concat([salt, recordSize, Buffer.of(ownPoint.length), ownPoint])
  return Buffer.concat([header, cipher.update(padded), cipher.final(), cipher.getAuthTag()])
}

/**
 * Reports whether the keys have the lengths that RFC 8291 states, and the public key is an uncompressed point of the
 * curve.
 */
export function arePushKeys({ p256dh, auth }: PushKeys): boolean {
  if (p256dh.length !== POINT_BYTES || p256dh[0] !== 4 || auth.length !== AUTH_BYTES) return false
  const probe = createECDH('prime256v1')
  probe.generateKeys()
  try {
    probe.computeSecret(p256dh)
    return true
  } catch {
    return false
  }
}

function hkdf(key: Uint8Array, salt: Uint8Array, info: Uint8Array, bytes: number): Buffer {
  return Buffer.from(hkdfSync('sha256', key, salt, info, bytes))
}
