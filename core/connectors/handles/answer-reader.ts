import { createMemberReader, type MemberReader } from './member-reader.ts'

/**
 * Maximum number of bytes of a response, or of one line of server-sent events, that are searched for handles. A stream
 * has no other limit, because its last event may contain an id: the time budget of the response ends the search.
 */
const MAX_ANSWER_BYTES = 1024 * 1024
const [LF, CR] = [0x0a, 0x0d]
const DATA = [...new TextEncoder().encode('data:')]

type Paths = readonly (readonly string[])[]

/** Creates a reader that finds members in the JSON of a response, or in the JSON of its server-sent events. */
export function createAnswerReader(paths: Paths, isEvents: boolean): MemberReader {
  return isEvents ? new EventReader(paths) : bounded(createMemberReader(paths))
}

function bounded(reader: MemberReader): MemberReader {
  let left = MAX_ANSWER_BYTES
  return {
    get found() {
      return reader.found
    },
    push(bytes) {
      if (left <= 0) return false
      const isWanted = reader.push(bytes.subarray(0, left))
      left -= bytes.length
      return isWanted && left > 0
    },
  }
}

/**
 * Searches each `data:` line of server-sent events as a separate JSON text. The result is the members of the line in
 * which most members were found, or of the first such line. The search ends at a line with all members.
 */
class EventReader implements MemberReader {
  found: ReadonlyMap<number, string> = new Map()
  readonly #paths: Paths
  /** Number of matched bytes of `data:` at the beginning of the current line; -1 if the line begins differently. */
  #matched = 0
  #event: MemberReader | null = null
  /** Number of bytes of the current line that may still be searched. */
  #left = 0

  constructor(paths: Paths) {
    this.#paths = paths
  }

  push(bytes: Uint8Array): boolean {
    const lineEnd = lineEnds(bytes)
    for (let at = 0; at < bytes.length; ) {
      const end = lineEnd(at)
      if (!this.#part(bytes.subarray(at, end))) return false
      if (end < bytes.length) this.#matched = 0
      at = end + 1
    }
    return true
  }

  /** Reads a part of a line. A line may span several chunks of the response. */
  #part(part: Uint8Array): boolean {
    let from = 0
    for (; from < part.length && this.#matched >= 0 && this.#matched < DATA.length; from++)
      this.#match(part[from] ?? 0)
    return this.#matched !== DATA.length || this.#read(part.subarray(from))
  }

  #match(byte: number): void {
    this.#matched = byte === DATA[this.#matched] ? this.#matched + 1 : -1
    if (this.#matched < DATA.length) return
    this.#event = createMemberReader(this.#paths)
    this.#left = MAX_ANSWER_BYTES
  }

  #read(line: Uint8Array): boolean {
    const event = this.#event
    if (event === null || this.#left <= 0) return true
    const isWanted = event.push(line.subarray(0, this.#left))
    this.#left -= line.length
    if (event.found.size > this.found.size) this.found = event.found
    return isWanted
  }
}

/**
 * Returns a function that finds the next line end (LF or CR) from an offset. The offset must not decrease between
 * calls. The function stores the next position of each of the two bytes, because most streams contain only one of them:
 * the search for the other byte then runs once.
 */
function lineEnds(bytes: Uint8Array): (from: number) => number {
  const next = (byte: number, from: number): number => {
    const at = bytes.indexOf(byte, from)
    return at === -1 ? bytes.length : at
  }
  let [lf, cr] = [-1, -1]
  return (from) => {
    if (lf < from) lf = next(LF, from)
    if (cr < from) cr = next(CR, from)
    return Math.min(lf, cr)
  }
}
