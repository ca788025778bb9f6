import { readFile } from 'node:fs/promises'
import { type LeftSegment, resultsOf } from './recovery/recover.ts'
import { type JournalFiles, SYSTEM_FILES } from './segments/files.ts'

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
  /** Hands the active segment over and starts an empty one. `isHeld`: it is not deleted before `release`. */
  rotate(closed: ClosedSegment & { readonly isHeld: boolean }): void
  /** The same, but the results of the active segment are in the new one as well. */
  replace(closed: ClosedSegment): void
  /** Lines that were carried from earlier segments are on the disk. */
  release(): void
  /** Up to `max` results of the oldest segment that has any. */
  next(max: number): Promise<Results>
  /** Results of the active segment. */
  list(): Iterable<Buffer>
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

type ClosedSegment = { readonly path: string; readonly bytes: number }
type Closed = ClosedSegment & {
  isHeld: boolean
  count: number
  results: Map<string, Buffer> | null
}

export function createBacklog(left: readonly LeftSegment[], files: JournalFiles = SYSTEM_FILES): Backlog {
  let active = new Map<string, Buffer>()
  const closed: Closed[] = left.map((s) => ({
    path: s.path,
    bytes: s.bytes,
    isHeld: false,
    count: s.results,
    results: null,
  }))
  const sum = (field: 'bytes' | 'count') => closed.reduce((total, segment) => total + segment[field], 0)
  let closedBytes = sum('bytes')

  let mayTrim = false
  const trim = (): void => {
    if (!mayTrim) return
    for (let oldest = closed[0]; oldest?.count === 0 && !oldest.isHeld; oldest = closed[0]) {
      files.rmSync(oldest.path)
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
    rotate({ path, bytes, isHeld }) {
      const keep = closed.every((segment) => segment.results === null)
      closed.push({ path, bytes, isHeld, count: active.size, results: keep ? active : null })
      closedBytes += bytes
      active = new Map()
      trim()
    },
    replace({ path, bytes }) {
      closed.push({ path, bytes, isHeld: false, count: 0, results: new Map() })
      closedBytes += bytes
      trim()
    },
    release() {
      for (const segment of closed) segment.isHeld = false
      trim()
    },
    list: () => active.values(),
    async next(max) {
      for (const segment of [...closed]) {
        // It has nothing to hand out, and may have been deleted while another one was read.
        if (segment.count === 0) continue
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
