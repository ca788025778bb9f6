import { createHash } from 'node:crypto'
import type { Sliced } from '../../../core/sliced.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { sha256Hex } from '../../../runtime/sha256.ts'
import type { Exchange } from '../exchange.ts'
import type { Pacer } from '../pacer.ts'

const SLICE_BYTES = 1024 * 1024
/** Cache of body hashes by body. The approval card and each comparison with the approved request need the hash. */
const known = new WeakMap<Buffer, string>()

/** Returns the SHA-256 of a body in hexadecimal. Computes the hash at once when it is not cached. */
export function bodyHash(bytes: Buffer): string {
  return known.get(bytes) ?? remember(bytes, sha256Hex(bytes))
}

/** Hashes a long body in slices and caches the result. A call of `bodyHash` alone would block the event loop. */
export async function hashBody(exchange: Exchange, pacer: Pacer): Promise<void> {
  const { bodyBytes } = exchange
  if (bodyBytes === undefined || bodyBytes.length <= LIMITS.pacedBodyBytes || known.has(bodyBytes)) return
  remember(bodyBytes, await pacer.run(exchange, hashSlices(bodyBytes)))
}

function* hashSlices(bytes: Buffer): Sliced<string> {
  const made = createHash('sha256')
  for (let at = 0; at < bytes.length; at += SLICE_BYTES) {
    if (at > 0) yield
    made.update(bytes.subarray(at, at + SLICE_BYTES))
  }
  return made.digest('hex')
}

function remember(bytes: Buffer, text: string): string {
  known.set(bytes, text)
  return text
}
