import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { RecordSchema, type TrafficRecord } from '../../core/record.ts'
import { type ParsedLine, parseLine } from './line.ts'

/** A segment that an earlier process left, or that this one closed: `results` of it may be unacknowledged. */
export type LeftSegment = { readonly path: string; readonly bytes: number; readonly results: number }

export type Recovery = {
  /** Oldest first. */
  readonly segments: readonly LeftSegment[]
  /** Intents without a result: the process died between the two. */
  readonly unknown: readonly TrafficRecord[]
  /** Lines that were cut off or hold no valid record. */
  readonly tornLines: number
}

/** Reads what earlier processes left in `dir`. Changes nothing. */
export function recoverSegments(dir: string): Recovery {
  const found: Found = { open: new Map(), resolved: new Set(), tornLines: 0 }
  const segments = segmentPaths(dir).map((path) => readSegment(path, found))
  const unknown: TrafficRecord[] = []
  for (const [id, json] of found.open) {
    if (found.resolved.has(id)) continue
    const record = RecordSchema.safeParse(JSON.parse(json))
    if (record.success) unknown.push({ ...record.data, note: 'unknown', status: null })
    else found.tornLines++
  }
  return { segments, unknown, tornLines: found.tornLines }
}

/** Over all segments, because a result may be in a later one than its intent. */
type Found = { readonly open: Map<string, string>; readonly resolved: Set<string>; tornLines: number }

function readSegment(path: string, found: Found): LeftSegment {
  const before = found.resolved.size
  const bytes = readFileSync(path)
  for (const raw of linesOf(bytes)) note(parseLine(raw), found)
  return { path, bytes: bytes.length, results: found.resolved.size - before }
}

function note(parsed: ParsedLine | null, found: Found): void {
  if (parsed === null) found.tornLines++
  else if (parsed.phase === 'result') found.resolved.add(parsed.record.id)
  else found.open.set(parsed.record.id, parsed.json)
}

/** Results of one segment as `id -> record JSON`, in order. */
export function resultsOf(segment: Buffer): Map<string, Buffer> {
  const results = new Map<string, Buffer>()
  for (const raw of linesOf(segment)) {
    const parsed = parseLine(raw)
    if (parsed?.phase === 'result') results.set(parsed.record.id, Buffer.from(parsed.json))
  }
  return results
}

/** One by one: a segment as text, cut into lines, would be three times its size. Blank ones are left out. */
function* linesOf(segment: Buffer): Generator<string> {
  for (let from = 0; from < segment.length; ) {
    const found = segment.indexOf(LINE_FEED, from)
    const to = found === -1 ? segment.length : found
    if (to > from) yield segment.toString('utf8', from, to)
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
