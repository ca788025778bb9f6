import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { base62 } from '../../core/ids.ts'

/** A secret that is shown once: `key` goes to its owner, the rest into the database. */
export type IssuedKey = { readonly key: string; readonly prefix: string; readonly sha256: Buffer }

const PREFIX_LENGTH = 15
/** 43 characters of 62 carry 256 bits. */
const SECRET_LENGTH = 43

/** `svc_live_…` for the environment `production`, else `svc_test_…`. */
export function issueAgentKey(environment: string): IssuedKey {
  return issue(environment === 'production' ? 'svc_live_' : 'svc_test_')
}

/** `svc_user_…`: lets a user answer approvals without a browser. */
export function issueUserKey(): IssuedKey {
  return issue('svc_user_')
}

/** Whether a key that a caller chose has the form of an issued agent key, and room for as much randomness. */
export function isAgentKeyForm(key: string): boolean {
  const [, secret = ''] = /^svc_(?:live|test)_([0-9A-Za-z]+)$/.exec(key) ?? []
  return secret.length >= SECRET_LENGTH
}

/** What a key is looked up by: its first 15 characters. */
export function keyPrefix(key: string): string {
  return key.slice(0, PREFIX_LENGTH)
}

/** 32 random bytes as base64url: session ids, gateway, operator, admin and invitation tokens. */
export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}

export function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}

/** Whether `text` is the one that was hashed; the time does not depend on where they differ. */
export function matchesHash(text: string, hash: Buffer | null): boolean {
  return hash !== null && isSameHash(sha256(text), hash)
}

/** Whether two hashes are the same; the time does not depend on where they differ. */
export function isSameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/** The key that signs what a gateway is sent: both sides make it from the gateway's token. */
export function syncKeyOf(gatewayToken: string): Buffer {
  return sha256(`sync:${gatewayToken}`)
}

function issue(kind: string): IssuedKey {
  const key = kind + unbiasedBase62(SECRET_LENGTH)
  return { key, prefix: keyPrefix(key), sha256: sha256(key) }
}

/** Bytes of 248 and above would make the first eight characters likelier than the others. */
function unbiasedBase62(length: number): string {
  let bytes = Buffer.alloc(0)
  while (bytes.length < length) {
    bytes = Buffer.concat([bytes, randomBytes(length).filter((byte) => byte < 248)])
  }
  return base62(bytes.subarray(0, length))
}
