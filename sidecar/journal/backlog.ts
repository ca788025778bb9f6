import { readFile } from 'node:fs/promises'
import { basename } from 'node:path'
import { BlockMemory } from '../collections/block-memory.ts'
import { recordJson } from '../pipeline/record/record-json.ts'
import { addNumber, type LostRange, mergeRanges } from './lost-ranges.ts'
import { intactResults } from './recovery/intact-segment.ts'
import { type DamagedSegment, findDamage, type LeftSegment, resultsOf } from './recovery/recover.ts'
import { isErrno } from './segments/errno.ts'
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
  /** Adds a result, whose bytes are then released with it. `number`: the process and sequence number of the record. */
  add(id: string, recordJson: Buffer, number: RecordNumber): void
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

type RecordNumber = { readonly process_id: string; readonly seq: number }

type ClosedSegment = { readonly path: string; readonly bytes: number }
type Closed = ClosedSegment & {
  isHeld: boolean
  count: number
  results: Map<string, Buffer> | null
  /** Sequence numbers of the results that were written to the segment. */
  readonly numbers: readonly LostRange[]
}

export type BacklogOptions = {
  readonly files?: JournalFiles
  /** The memory of the results. */
  readonly memory?: BlockMemory
  /** Called when a closed segment has lost results since they were written. */
  readonly onDamage?: (damage: DamagedSegment & { readonly path: string }) => void
}

export function createBacklog(left: readonly LeftSegment[], options: BacklogOptions = {}): Backlog {
  const { files = SYSTEM_FILES, memory = new BlockMemory(), onDamage } = options
  let active = new Map<string, Buffer>()
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
    add(id, json, { process_id, seq }) {
      active.set(id, json)
      addNumber(numbers, process_id, seq)
    },
    rotate({ path, bytes, isHeld }) {
      const keep = closed.every((segment) => segment.results === null)
      const results = keep ? active : null
      if (results === null) for (const json of active.values()) memory.release(json)
      closed.push({ path, bytes, isHeld, count: active.size, results, numbers: mergeRanges(numbers) })
      closedBytes += bytes
      active = new Map()
      numbers = []
      trim()
    },
    replace({ path, bytes }) {
      closed.push({ path, bytes, isHeld: false, count: 0, results: new Map(), numbers: [] })
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
        const results = await load(segment, onDamage)
        if (results.size > 0) return take(results, max)
      }
      trim()
      return take(active, max)
    },
    remove(ids) {
      for (const id of ids) {
        if (removeFrom(active, id, memory)) continue
        const owner = closed.find(({ results }) => results !== null && removeFrom(results, id, memory))
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

/** Removes a result and releases its bytes. Returns false if the map has none with this id. */
function removeFrom(results: Map<string, Buffer>, id: string, memory: BlockMemory): boolean {
  const json = results.get(id)
  if (json === undefined) return false
  memory.release(json)
  return results.delete(id)
}

function closedOf({ path, bytes, results: count, numbers }: LeftSegment): Closed {
  return { path, bytes, count, numbers, isHeld: false, results: null }
}

async function load(segment: Closed, onDamage: BacklogOptions['onDamage']): Promise<Map<string, Buffer>> {
  if (segment.results === null) {
    const bytes = await readClosed(segment.path)
    segment.results = intactResults(bytes, segment.numbers) ?? parsedResults(segment, bytes, onDamage)
  }
  segment.count = segment.results.size
  return segment.results
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

function take(results: Results, max: number): Results {
  if (results.size <= max) return new Map(results)
  const batch = new Map<string, Buffer>()
  for (const [id, json] of results) {
    if (batch.size === max) break
    batch.set(id, json)
  }
  return batch
}
