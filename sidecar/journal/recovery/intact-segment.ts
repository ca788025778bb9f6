import { type FileHandle, open } from 'node:fs/promises'
import { hasChecksum, plainIdOf, resultOf } from '../line.ts'
import type { LostRange } from '../lost-ranges.ts'
import { isErrno } from '../segments/errno.ts'

const LINE_FEED = 10
/** Size in bytes of a piece of a segment, which is larger than every line. */
const PIECE_BYTES = 512 * 1024

/**
 * Reads the results of an undamaged segment, and calls `add` for each. Resolves with false when a line is incomplete or
 * has no valid checksum, when the number of results differs from `written`, or when the file is missing; `add` may have
 * been called before. The caller must then parse each line, which costs five times as much. Speed matters, because a
 * gateway whose uploads lag reads every segment. The file is read in pieces, because 4 MiB of garbage would make V8
 * collect the old generation.
 */
export async function readIntact(
  path: string,
  written: readonly LostRange[],
  add: (recordJson: Buffer) => void,
): Promise<boolean> {
  const lines = new IntactLines(add)
  const file = await openIfPresent(path)
  if (file === null) return false
  try {
    return (await areIntact(file, lines)) && lines.count === countOf(written)
  } finally {
    await file.close()
  }
}

async function areIntact(file: FileHandle, lines: IntactLines): Promise<boolean> {
  const buffer = Buffer.allocUnsafeSlow(PIECE_BYTES)
  for (let kept = 0; ; ) {
    const { bytesRead } = await file.read(buffer, kept, buffer.length - kept)
    const filled = kept + bytesRead
    if (bytesRead === 0) return filled === 0
    const taken = lines.take(buffer.subarray(0, filled))
    if (taken === null) return false
    buffer.copyWithin(0, taken, filled)
    kept = filled - taken
  }
}

async function openIfPresent(path: string): Promise<FileHandle | null> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (isErrno(error, 'ENOENT')) return null
    throw error
  }
}

/** The results among the lines of an undamaged segment. */
export class IntactLines {
  count = 0
  readonly #add: (recordJson: Buffer) => void

  constructor(add: (recordJson: Buffer) => void) {
    this.#add = add
  }

  /** Reads the complete lines at the start of `bytes`. Returns their length in bytes; null if a line is invalid. */
  take(bytes: Buffer): number | null {
    let from = 0
    for (;;) {
      const to = bytes.indexOf(LINE_FEED, from)
      if (to === -1) return from
      // A segment may have blank lines, see `SegmentFile.reopen`.
      if (to > from && !this.#takeLine(bytes.subarray(from, to))) return null
      from = to + 1
    }
  }

  /**
   * Adds the line if it is a result. Returns false for a line without its checksum, and for a result without a plain
   * id.
   */
  #takeLine(line: Buffer): boolean {
    if (!hasChecksum(line)) return false
    const json = resultOf(line)
    if (json === null) return true
    if (plainIdOf(json) === null) return false
    this.count += 1
    this.#add(json)
    return true
  }
}

function countOf(ranges: readonly LostRange[]): number {
  return ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0)
}
