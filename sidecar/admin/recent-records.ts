import type { TrafficRecord } from '../../core/record.ts'
import { ByteQueue } from '../collections/byte-queue.ts'

/**
 * The newest records, for `/internal/traffic`. They are kept as JSON, because a thousand record objects would burden
 * the garbage collector.
 */
export type RecentRecords = { add(recordJson: Buffer): void; newest(limit: number): TrafficRecord[] }

export const MAX_RECENT = 1_000

export function createRecentRecords(max = MAX_RECENT): RecentRecords {
  const queue = new ByteQueue()
  return {
    add(recordJson) {
      queue.push(recordJson)
      if (queue.size > max) queue.shift()
    },
    newest(limit) {
      const found = [...queue].slice(Math.max(0, queue.size - limit)).reverse()
      return found.map((recordJson) => JSON.parse(recordJson.toString()))
    },
  }
}
