import { randomBytes, timingSafeEqual } from 'node:crypto'
import { base62 } from '../../core/ids.ts'
import { sha256 } from '../../runtime/sha256.ts'

/** A new agent key or approver key. `key` is shown once to its owner. Only `prefix` and `sha256` are stored. */
export type IssuedKey = { readonly key: string; readonly prefix: string; readonly sha256: Buffer }

const PREFIX_LENGTH = 15
/** Number of random characters after the prefix of a key. 43 base62 characters have 256 bits of entropy. */
const SECRET_LENGTH = 43

/** Issues an agent key: `svc_live_...` for the environment `production`, `svc_test_...` for other environments. */
export function issueAgentKey(environment: string): IssuedKey {
  return issue(environment === 'production' ? 'svc_live_' : 'svc_test_')
}

/** Issues an approver key, `svc_user_...`. A user can answer approvals with the key instead of a session. */
export function issueUserKey(): IssuedKey {
  return issue('svc_user_')
}

/** Returns whether a key that a caller chose has the format and at least the length of an issued agent key. */
export function isAgentKeyForm(key: string): boolean {
  const [, secret = ''] = /^svc_(?:live|test)_([0-9A-Za-z]+)$/.exec(key) ?? []
  return secret.length >= SECRET_LENGTH
}

/** Returns the first 15 characters of a key. The stored prefix is used to look up the key. */
export function keyPrefix(key: string): string {
  return key.slice(0, PREFIX_LENGTH)
}

/**
 * Returns 32 random bytes in base64url. Used for session ids and for gateway, operator, admin and invitation tokens.
 */
export function randomToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Compares the SHA-256 of `text` with a hash in constant time. */
export function matchesHash(text: string, hash: Buffer | null): boolean {
  return hash !== null && isSameHash(sha256(text), hash)
}

/** Compares two hashes in constant time. */
export function isSameHash(a: Buffer, b: Buffer): boolean {
  return a.length === b.length && timingSafeEqual(a, b)
}

/**
 * Derives the key that signs messages to a gateway. The control plane and the gateway derive the key from the gateway's
 * token.
 */
export function syncKeyOf(gatewayToken: string): Buffer {
  return sha256(`sync:${gatewayToken}`)
}

function issue(kind: string): IssuedKey {
  const key = kind + unbiasedBase62(SECRET_LENGTH)
  return { key, prefix: keyPrefix(key), sha256: sha256(key) }
}

/**
 * Returns random base62 characters. Skips byte values from 248, because 256 is not a multiple of 62: these values would
 * make the first eight characters more likely.
 */
function unbiasedBase62(length: number): string {
  let bytes = Buffer.alloc(0)
  while (bytes.length < length) {
    bytes = Buffer.concat([bytes, randomBytes(length).filter((byte) => byte < 248)])
  }
  return base62(bytes.subarray(0, length))
}
