import { rmSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { type LeftSegment, resultsOf } from './recover.ts'

/**
 * Record JSON by record id. As bytes: as strings they would be copied by the collector twice, and then be old.
 */
export type Results = ReadonlyMap<string, Buffer>

/**
 * Results that the control plane has not acknowledged, by segment, oldest first. Those of the segment in use are in
 * memory; of closed segments at most one is, so that a long absence of the control plane costs disk, not memory.
 */
export type Backlog = {
  add(id: string, recordJson: Buffer): void
  /** Hands the active segment over and starts an empty one. */
  rotate(closed: { readonly path: string; readonly bytes: number }): void
  /** Up to `max` results of the oldest segment that has any. */
  next(max: number): Promise<Results>
  /** Forgets results; deletes closed segments that have none left. */
  remove(ids: Iterable<string>): void
  /** Until then no segment of an earlier process is deleted: it may hold the only trace of a request. */
  allowTrimming(): void
  /** Unacknowledged results of the active segment, and of all. */
  readonly active: number
  readonly total: number
  /** Bytes of the closed segments. */
  readonly closedBytes: number
}

type Closed = {
  readonly path: string
  readonly bytes: number
  count: number
  results: Map<string, Buffer> | null
}

export function createBacklog(left: readonly LeftSegment[]): Backlog {
  let active = new Map<string, Buffer>()
  const closed: Closed[] = left.map((s) => ({
    path: s.path,
    bytes: s.bytes,
    count: s.results,
    results: null,
  }))
  const sum = (field: 'bytes' | 'count') => closed.reduce((total, segment) => total + segment[field], 0)
  let closedBytes = sum('bytes')

  let mayTrim = false
  const trim = (): void => {
    if (!mayTrim) return
    for (let oldest = closed[0]; oldest !== undefined && oldest.count === 0; oldest = closed[0]) {
      rmSync(oldest.path, { force: true })
      closedBytes -= oldest.bytes
      closed.shift()
    }
  }
  const load = async (segment: Closed): Promise<Map<string, Buffer>> => {
    segment.results ??= resultsOf(await readFile(segment.path))
    segment.count = segment.results.size
    return segment.results
  }

  return {
    add: (id, json) => void active.set(id, json),
    rotate({ path, bytes }) {
      const keep = closed.every((segment) => segment.results === null)
      closed.push({ path, bytes, count: active.size, results: keep ? active : null })
      closedBytes += bytes
      active = new Map()
      trim()
    },
    async next(max) {
      for (const segment of [...closed]) {
        const results = await load(segment)
        if (results.size > 0) return take(results, max)
      }
      trim()
      return take(active, max)
    },
    remove(ids) {
      for (const id of ids) {
        if (active.delete(id)) continue
        const owner = closed.find((segment) => segment.results?.delete(id))
        if (owner !== undefined) owner.count--
      }
      trim()
    },
    allowTrimming() {
      mayTrim = true
      trim()
    },
    get active() {
      return active.size
    },
    get total() {
      return active.size + sum('count')
    },
    get closedBytes() {
      return closedBytes
    },
  }
}

function take(results: Results, max: number): Results {
  if (results.size <= max) return new Map(results)
  const batch = new Map<string, Buffer>()
  for (const [id, json] of results) {
    if (batch.size === max) break
    batch.set(id, json)
  }
  return batch
}
