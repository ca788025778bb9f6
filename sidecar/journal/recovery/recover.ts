import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, join } from 'node:path'
import * as z from 'zod'
import { RecordSchema, RefusalsSchema, type TrafficRecord } from '../../../core/record.ts'
import { refusalsText } from '../../../core/state/refusals-text.ts'
import { type ParsedLine, type Phase, parseLine } from '../line.ts'
import { addNumber, type LostRange, mergeRanges, subtract } from '../lost-ranges.ts'
import { SequenceRecovery } from './sequence-recovery.ts'

/**
 * A closed segment. `results` is the number of its results that may be unacknowledged, `numbers` are the sequence
 * numbers of all its results.
 */
export type LeftSegment = {
  readonly path: string
  readonly bytes: number
  readonly results: number
  readonly numbers: readonly LostRange[]
}

export type Recovery = {
  readonly segments: readonly LeftSegment[]
  /** Records of intents without a result, because the process crashed before the result was written. */
  readonly unknown: readonly TrafficRecord[]
  /** Ranges of sequence numbers that were taken or reserved but have no record. */
  readonly lost: readonly LostRange[]
  /** Number of lines that are truncated or damaged. */
  readonly tornLines: number
  /** Positions of the first truncated or damaged lines, as `FILE:BYTE`. */
  readonly tornAt: readonly string[]
}

/** Reads the segments of earlier processes in `dir`. Writes nothing. */
export function recoverSegments(dir: string): Recovery {
  const found = nothingFound()
  const segments = segmentPaths(dir).map((path) => readSegment(path, found))
  const unknown: TrafficRecord[] = []
  for (const [id, json] of found.open) {
    if (found.resolved.has(id) || found.dropped.has(id)) continue
    const record = RecordSchema.safeParse(JSON.parse(json))
    // An intent whose number is settled needs no record, in two cases. The intent was dropped, its line `dropped` is
    // damaged, and another record has the number. Or a closed segment was damaged, and the number was reported as lost.
    if (record.success && found.numbers.isSettled(record.data)) continue
    if (record.success) unknown.push(recoveredRecord(record.data, found.tallies.get(id)))
    else {
      found.tornLines++
      found.numbers.dropped(id)
    }
  }
  return { segments, unknown, lost: found.numbers.gaps(), tornLines: found.tornLines, tornAt: found.tornAt }
}

const Tally = z.object({ refusals: RefusalsSchema.omit({ targets: true }) })

/**
 * Returns the record of an intent without a result. An aggregate record gets its last counters; the record of a single
 * request gets the note `unknown`.
 */
function recoveredRecord(record: TrafficRecord, tallyJson: string | undefined): TrafficRecord {
  const { refusals } = record
  if (refusals === null || refusals === undefined) return { ...record, note: 'unknown', status: null }
  const tally = tallyJson === undefined ? null : Tally.safeParse(JSON.parse(tallyJson)).data
  const last = { ...refusals, ...tally?.refusals }
  return { ...record, refusals: last, note: refusalsText(last) }
}

/**
 * Content of all segments. All lines are collected before results are matched with intents, because a result may be in
 * a later segment than its intent.
 */
type Found = {
  readonly open: Map<string, string>
  readonly resolved: Set<string>
  readonly dropped: Set<string>
  readonly tallies: Map<string, string>
  readonly numbers: SequenceRecovery
  tornLines: number
  readonly tornAt: string[]
}

/** Maximum number of damaged lines whose positions are logged. */
const LOCATED = 20

function readSegment(path: string, found: Found): LeftSegment {
  const before = found.resolved.size
  const bytes = readFileSync(path)
  const first = FIRST_SEGMENT.exec(basename(path))?.[1]
  if (first !== undefined) found.numbers.begins(first)
  const numbers = noteLines(bytes, basename(path), found)
  return { path, bytes: bytes.length, results: found.resolved.size - before, numbers }
}

/** Adds the lines of a segment to `found`. Returns the sequence numbers of its results. */
function noteLines(bytes: Buffer, name: string, found: Found): readonly LostRange[] {
  const numbers: LostRange[] = []
  for (const { raw, at } of linesOf(bytes)) {
    const parsed = parseLine(raw)
    if (note(parsed, found)) {
      if (parsed?.phase === 'result') addNumberOf(numbers, parsed.record)
      continue
    }
    found.tornLines++
    if (found.tornAt.length < LOCATED) found.tornAt.push(`${name}:${at}`)
  }
  return mergeRanges(numbers)
}

function addNumberOf(numbers: LostRange[], { seq, process_id }: ParsedLine['record']): void {
  if (typeof seq === 'number' && typeof process_id === 'string') addNumber(numbers, process_id, seq)
}

function nothingFound(): Found {
  return {
    open: new Map(),
    resolved: new Set(),
    dropped: new Set(),
    tallies: new Map(),
    tornLines: 0,
    tornAt: [],
    numbers: new SequenceRecovery(),
  }
}

/** Results of a closed segment that was damaged after they were written. */
export type DamagedSegment = Pick<Recovery, 'unknown' | 'lost' | 'tornAt'>

/**
 * Compares a closed segment with the sequence numbers of the results that were written to it. Returns null when the
 * segment has all of these results. A missing result whose intent is in the segment becomes a record with the note
 * `unknown`, as after a crash. The sequence numbers of all other missing results are lost.
 */
export function findDamage(
  bytes: Buffer,
  name: string,
  written: readonly LostRange[],
): DamagedSegment | null {
  const found = nothingFound()
  const missing = subtract(written, noteLines(bytes, name, found))
  if (missing.length === 0) return null
  const isMissing = ({ process_id, seq }: TrafficRecord) =>
    missing.some((range) => range.process_id === process_id && range.from <= seq && seq <= range.to)
  const unknown = [...found.open].flatMap(([id, json]) => {
    const record = RecordSchema.safeParse(JSON.parse(json)).data
    if (record === undefined || found.resolved.has(id) || found.dropped.has(id) || !isMissing(record))
      return []
    return [recoveredRecord(record, found.tallies.get(id))]
  })
  const recorded: LostRange[] = []
  for (const record of unknown) addNumberOf(recorded, record)
  return { unknown, lost: subtract(missing, mergeRanges(recorded)), tornAt: found.tornAt }
}

/** Matches the file name of the first segment of a process, which begins with the id of the process. */
const FIRST_SEGMENT = /^(.+)-1\.jsonl$/

/** Adds a parsed line to `found`. Returns false for a line that is truncated or damaged. */
function note(parsed: ParsedLine | null, found: Found): boolean {
  return parsed !== null && NOTE[parsed.phase](parsed, found)
}

/** Handlers of lines by phase. Each returns false for an invalid line. */
const NOTE: Readonly<Record<Phase, (parsed: ParsedLine, found: Found) => boolean>> = {
  result({ record }, found) {
    found.resolved.add(record.id)
    found.numbers.result(record)
    return true
  },
  intent({ record, json }, found) {
    // A full record replaces the counters of earlier lines.
    found.open.set(record.id, json)
    found.tallies.delete(record.id)
    found.numbers.intent(record)
    return true
  },
  dropped({ record: { id } }, found) {
    found.dropped.add(id)
    found.numbers.dropped(id)
    return true
  },
  tally({ record: { id }, json }, found) {
    found.tallies.set(id, json)
    return true
  },
  sequence: ({ json }, { numbers }) => numbers.sequence(json),
  lost: ({ json }, { numbers }) => numbers.lost(json),
}

/** Returns the results of one segment as `id -> record JSON`, in order. */
export function resultsOf(segment: Buffer): Map<string, Buffer> {
  const results = new Map<string, Buffer>()
  for (const { raw } of linesOf(segment)) {
    const parsed = parseLine(raw)
    if (parsed?.phase === 'result') results.set(parsed.record.id, Buffer.from(parsed.json))
  }
  return results
}

/**
 * Yields the non-empty lines one by one. Decoding and splitting a segment as a whole would take three times its size in
 * memory.
 */
function* linesOf(segment: Buffer): Generator<{ readonly raw: string; readonly at: number }> {
  for (let from = 0; from < segment.length; ) {
    const found = segment.indexOf(LINE_FEED, from)
    const to = found === -1 ? segment.length : found
    if (to > from) yield { raw: segment.toString('utf8', from, to), at: from }
    from = to + 1
  }
}

const LINE_FEED = 10

function segmentPaths(dir: string): string[] {
  return readdirSync(dir)
    .filter((name) => name.endsWith('.jsonl'))
    .map((name) => ({ path: join(dir, name), stat: statSync(join(dir, name)), n: numberOf(name) }))
    .filter(({ stat }) => stat.isFile())
    .sort((a, b) => a.stat.mtimeMs - b.stat.mtimeMs || a.n - b.n)
    .map(({ path }) => path)
}

function numberOf(name: string): number {
  return Number(/-(\d+)\.jsonl$/.exec(name)?.[1] ?? 0)
}
