import type { TrafficRecord } from '../../core/record.ts'

/**
 * Ring buffer of the newest records, for `/internal/traffic`. The buffer keeps the bytes that the journal writes,
 * because a thousand record objects would burden the garbage collector.
 */
export type RecentRecords = { add(recordJson: Buffer): void; newest(limit: number): TrafficRecord[] }

export const MAX_RECENT = 1_000

export function createRecentRecords(max = MAX_RECENT): RecentRecords {
  const ring: Buffer[] = []
  let next = 0
  return {
    add(recordJson) {
      ring[next] = recordJson
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
