import { randomFillSync } from 'node:crypto'

const POOL_BYTES = 8 * 1024
const pool = Buffer.alloc(POOL_BYTES)
let used = POOL_BYTES

/**
 * Random bytes of the operating system, fetched for hundreds of ids at a time: one by one they are a twentieth of what
 * a small request costs. Each byte is given out once and is zero in the pool from then on.
 */
export function pooledRandom(length: number): Uint8Array {
  if (length > POOL_BYTES) throw new RangeError(`at most ${POOL_BYTES} random bytes at once`)
  if (used + length > POOL_BYTES) {
    randomFillSync(pool)
    used = 0
  }
  const bytes = Uint8Array.from(pool.subarray(used, used + length))
  pool.fill(0, used, used + length)
  used += length
  return bytes
}
