import type { TrafficRecord } from '../../core/record.ts'

/**
 * The newest records of this process, for `/internal/traffic`. Kept as the bytes that the journal has anyway: a
 * thousand objects that die a moment later are what a garbage collector likes least.
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
