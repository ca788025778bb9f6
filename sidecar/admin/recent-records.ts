import type { TrafficRecord } from '../../core/record.ts'
import { BlockMemory } from '../collections/block-memory.ts'

/**
 * Ring buffer of the newest records, for `/internal/traffic`. The buffer keeps copies of the bytes that the
 * journal writes, because a thousand record objects would burden the garbage collector.
 */
export type RecentRecords = { add(recordJson: Buffer): void; newest(limit: number): TrafficRecord[] }

export const MAX_RECENT = 1_000

export function createRecentRecords(max = MAX_RECENT): RecentRecords {
  const ring: Buffer[] = []
  const memory = new BlockMemory()
  let next = 0
  return {
    add(recordJson) {
      const oldest = ring[next]
      if (oldest !== undefined) memory.release(oldest)
      ring[next] = memory.copy(recordJson)
      next = (next + 1) % max
    },
    newest(limit) {
      const count = Math.min(limit, ring.length)
      const found: TrafficRecord[] = []
      for (let i = 1; i <= count; i++) {
        const recordJson = ring[(next - i + ring.length * 2) % ring.length]
        if (recordJson !== undefined) found.push(JSON.parse(recordJson.toString()))
      }
      return found
    },
  }
}
