import { readFile } from 'node:fs/promises'
import { type LeftSegment, resultsOf } from './recovery/recover.ts'
import { type JournalFiles, SYSTEM_FILES } from './segments/files.ts'

/**
 * Record JSON by record id. The JSON is kept as bytes, because the garbage collector would copy strings twice and
 * promote them to the old generation.
 */
export type Results = ReadonlyMap<string, Buffer>

/**
 * Results that the control plane has not acknowledged, by segment, oldest first. Memory holds the results of the active
 * segment and of at most one closed segment, so that a long outage of the control plane uses disk instead of memory.
 */
export type Backlog = {
  add(id: string, recordJson: Buffer): void
  /**
   * Closes the active segment and starts an empty one. With `isHeld` the closed segment is not deleted before
   * `release`.
   */
  rotate(closed: ClosedSegment & { readonly isHeld: boolean }): void
  /** Closes the active segment, whose results were also written to the new segment. */
  replace(closed: ClosedSegment): void
  /**
   * Permits the deletion of held segments. Call it when the lines that were copied from them into a new segment are on
   * disk.
   */
  release(): void
  /** Returns up to `max` results of the oldest segment that has any. */
  next(max: number): Promise<Results>
  /** Returns the results of the active segment. */
  list(): Iterable<Buffer>
  /** Removes results and deletes closed segments without results. */
  remove(ids: Iterable<string>): void
  /**
   * Permits the deletion of segments of earlier processes. Before this call, a segment may be the only trace of a
   * request whose process crashed.
   */
  allowTrimming(): void
  /** Number of unacknowledged results in the active segment; `total` is their number in all segments. */
  readonly active: number
  readonly total: number
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
        // While another segment was read, the upload of the last result of this segment may have deleted its file.
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
