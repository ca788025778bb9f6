import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 8 * 1024
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES

/**
 * Returns random bytes from a pool that the operating system's generator fills. The pool is necessary because a
 * system call per id would be about 5 % of the cost of a small request. Each byte is used once and then overwritten
 * with zero in the pool.
 */
export function pooledRandom(length: number): Uint8Array {
  if (length > POOL_BYTES) throw new RangeError(`At most ${POOL_BYTES} random bytes can be read at once.`)
  if (used + length > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Uint8Array.from(pool.subarray(used, used + length))
  pool.fill(0, used, used + length)
  used += length
  return bytes
}
