import type { TrafficRecord } from '../../core/record.ts'
import { type HeldRecord, RecordSpace } from '../journal/record-space.ts'

/** The newest records of this process, for `/internal/traffic`. */
export type Recent = { add(recordJson: string): void; newest(limit: number): TrafficRecord[] }

export const MAX_RECENT = 1_000

export function createRecent(max = MAX_RECENT): Recent {
  const space = new RecordSpace()
  const ring: HeldRecord[] = []
  let next = 0
  return {
    add(recordJson) {
      const oldest = ring[next]
      if (oldest !== undefined) space.release(oldest)
      ring[next] = space.hold(recordJson)
      next = (next + 1) % max
    },
    newest(limit) {
      const count = Math.min(limit, ring.length)
      const found: TrafficRecord[] = []
      for (let i = 1; i <= count; i++) {
        const record = ring[(next - i + ring.length * 2) % ring.length]
        if (record !== undefined) found.push(JSON.parse(record.toString()))
      }
      return found
    },
  }
}
