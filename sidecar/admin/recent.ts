import type { TrafficRecord } from '../../core/record.ts'

/** The newest records of this process, for `/internal/traffic`. */
export type Recent = { add(record: TrafficRecord): void; newest(limit: number): TrafficRecord[] }

export const MAX_RECENT = 1_000

export function createRecent(max = MAX_RECENT): Recent {
  const ring: TrafficRecord[] = []
  let next = 0
  return {
    add(record) {
      ring[next] = record
      next = (next + 1) % max
    },
    newest(limit) {
      const count = Math.min(limit, ring.length)
      const found: TrafficRecord[] = []
      for (let i = 1; i <= count; i++) {
        const record = ring[(next - i + ring.length * 2) % ring.length]
        if (record !== undefined) found.push(record)
      }
      return found
    },
  }
}
