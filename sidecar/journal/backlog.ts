import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { BlockPool } from '../collections/byte-queue.ts'
import { recordJson } from '../pipeline/record/record-json.ts'
import { addNumber, type LostRange, mergeRanges } from './lost-ranges.ts'
import { readIntact } from './recovery/intact-segment.ts'
import { type DamagedSegment, findDamage, type LeftSegment, resultsOf } from './recovery/recover.ts'
import { ResultQueue, type Results } from './result-queue.ts'
import { isErrno } from './segments/errno.ts'
import { type JournalFiles, SYSTEM_FILES } from './segments/files.ts'

/**
 * Results that the control plane has not acknowledged, by segment, oldest first. Memory holds the results of the active
 * segment and of at most one closed segment, so that a long outage of the control plane uses disk instead of memory.
 */
export type Backlog = {
  /** Adds a copy of a result. `number` contains the process id and the sequence number of the record. */
  add(recordJson: Buffer, number: RecordNumber): void
  /**
   * Closes the active segment and starts an empty one. With `isHeld` the closed segment is not deleted before
   * `release`.
   */
  rotate(closed: ClosedSegment & { readonly isHeld: boolean }): void
  /** Closes the active segment, whose results were also written to the new segment. */
  replace(closed: ClosedSegment): void
  /**
   * Permits the deletion of held segments. Must be called only when the lines that were copied from the held segments
   * into a new segment are on disk.
   */
  release(): void
  /** Returns up to `max` results of the oldest segment that has any. They are valid until results are removed. */
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

type RecordNumber = { readonly process_id: string; readonly seq: number }

type ClosedSegment = { readonly path: string; readonly bytes: number }
type Closed = ClosedSegment & {
  isHeld: boolean
  count: number
  results: ResultQueue | null
  /** Sequence numbers of the results that were written to the segment. */
  readonly numbers: readonly LostRange[]
}

export type BacklogOptions = {
  readonly files?: JournalFiles
  /** Called when a closed segment has lost results since they were written. */
  readonly onDamage?: (damage: DamagedSegment & { readonly path: string }) => void
}

export function createBacklog(left: readonly LeftSegment[], options: BacklogOptions = {}): Backlog {
  const { files = SYSTEM_FILES, onDamage } = options
  const pool = new BlockPool()
  let active = new ResultQueue(pool)
  let numbers: LostRange[] = []
  const closed = left.map(closedOf)
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
  return {
    add(json, { process_id, seq }) {
      active.push(json)
      addNumber(numbers, process_id, seq)
    },
    rotate({ path, bytes, isHeld }) {
      const { size } = active
      // If no closed segment has results, results of the active segment may be in an upload, so they stay in memory.
      const isKept = closed.every(({ results }) => results === null || results.size === 0)
      if (!isKept) active.clear()
      const results = isKept ? active : null
      closed.push({ path, bytes, isHeld, count: size, results, numbers: mergeRanges(numbers) })
      closedBytes += bytes
      active = new ResultQueue(pool)
      numbers = []
      trim()
    },
    replace({ path, bytes }) {
      closed.push({ path, bytes, isHeld: false, count: 0, results: new ResultQueue(pool), numbers: [] })
      closedBytes += bytes
      trim()
    },
    release() {
      for (const segment of closed) segment.isHeld = false
      trim()
    },
    list: () => active.first(active.size).values(),
    async next(max) {
      for (const segment of [...closed]) {
        // While another segment was read, the upload of the last result of this segment may have deleted the file of
        // this segment.
        if (segment.count === 0) continue
        segment.results ??= await load(segment, new ResultQueue(pool), onDamage)
        segment.count = segment.results.size
        if (segment.count > 0) return segment.results.first(max)
      }
      trim()
      return active.first(max)
    },
    remove(ids) {
      const left = new Set(ids)
      for (const segment of closed) segment.count -= segment.results?.remove(left) ?? 0
      active.remove(left)
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

function closedOf({ path, bytes, results: count, numbers }: LeftSegment): Closed {
  return { path, bytes, count, numbers, isHeld: false, results: null }
}

/** Reads the results of a closed segment from its file. Returns them as a queue. */
async function load(
  segment: Closed,
  queue: ResultQueue,
  onDamage: BacklogOptions['onDamage'],
): Promise<ResultQueue> {
  if (await readIntact(segment.path, segment.numbers, (json) => queue.push(json))) return queue
  queue.clear()
  const results = parsedResults(segment, await readClosed(segment.path), onDamage)
  for (const json of results.values()) queue.push(json)
  return queue
}

function parsedResults(
  { path, numbers }: Closed,
  bytes: Buffer,
  onDamage: BacklogOptions['onDamage'],
): Map<string, Buffer> {
  const results = resultsOf(bytes)
  const damage = findDamage(bytes, basename(path), numbers)
  if (damage === null) return results
  for (const record of damage.unknown) results.set(record.id, Buffer.from(recordJson(record)))
  onDamage?.({ ...damage, path })
  return results
}

/** Reads a closed segment. A segment that was deleted has no results. */
async function readClosed(path: string): Promise<Buffer> {
  try {
    return await readFile(path)
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return Buffer.alloc(0)
    throw error
  }
}
