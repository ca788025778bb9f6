import { randomFillSync } from 'node:crypto'
import { type IdKind, makeId } from '../core/ids.ts'

const ID_BYTES = 16
const POOL_BYTES = 4_096

/** Random ids. Randomness is drawn for 256 of them at a time: two are made for every request. */
export function createIds(): (kind: IdKind) => string {
  const pool = Buffer.alloc(POOL_BYTES)
  let used = POOL_BYTES
  return (kind) => {
    if (used === POOL_BYTES) {
      randomFillSync(pool)
      used = 0
    }
    used += ID_BYTES
    return makeId(kind, pool.subarray(used - ID_BYTES, used))
  }
}
