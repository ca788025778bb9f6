import { hasChecksum, plainIdOf, resultOf } from '../line.ts'
import type { LostRange } from '../lost-ranges.ts'

const LINE_FEED = 10

/**
 * Returns the results of an undamaged segment as `id -> record JSON`, in order. Null if a line has no or another checksum, or
 * if there are not as many results as were `written`: then each line must be parsed, which costs five times as much. A
 * gateway whose uploads lag behind reads every segment. The results share the memory of `segment`.
 */
export function intactResults(segment: Buffer, written: readonly LostRange[]): Map<string, Buffer> | null {
  const results = new Map<string, Buffer>()
  for (let from = 0; from < segment.length; ) {
    const to = segment.indexOf(LINE_FEED, from)
    if (to === -1) return null
    // A segment may have blank lines, see `SegmentFile.reopen`.
    if (to > from && !addLine(segment.subarray(from, to), results)) return null
    from = to + 1
  }
  return results.size === countOf(written) ? results : null
}

/** Adds the line if it is a result. Returns false for a line without its checksum. */
function addLine(line: Buffer, results: Map<string, Buffer>): boolean {
  if (!hasChecksum(line)) return false
  const json = resultOf(line)
  if (json === null) return true
  const id = plainIdOf(json)
  if (id === null) return false
  results.set(id, json)
  return true
}

function countOf(ranges: readonly LostRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}
