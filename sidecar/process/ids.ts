import { randomFillSync } from 'node:crypto'
import { base62, ID_PREFIXES, type IdKind } from '../../core/ids.ts'

const ID_CHARACTERS = 16
const POOL_BYTES = 4_096

/** Character code of each byte in base 62. */
const ENCODED = Uint8Array.from({ length: 256 }, (_, byte) => base62(Uint8Array.of(byte)).charCodeAt(0))

/**
 * Returns a generator of random ids. Random bytes are drawn and encoded for 256 ids at a time, because every request
 * needs two.
 */
export function createIds(): (kind: IdKind) => string {
  const bytes = Buffer.alloc(POOL_BYTES)
  let pool = ''
  let used = POOL_BYTES
  return (kind) => {
    if (used === POOL_BYTES) {
      randomFillSync(bytes)
      for (let at = 0; at < POOL_BYTES; at++) bytes[at] = ENCODED[bytes[at] ?? 0] ?? 0
      pool = bytes.toString('latin1')
      used = 0
    }
    used += ID_CHARACTERS
    return ID_PREFIXES[kind] + pool.slice(used - ID_CHARACTERS, used)
  }
}
