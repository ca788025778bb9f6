const SEGMENT_BYTES = 4 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024

/** A segment in use is closed early once everything in it is acknowledged and it has grown this large. */
export const TIDY_BYTES = 2 * 1024 * 1024

export type JournalSize = {
  /** A segment that has grown this large is closed. */
  readonly segmentBytes: number
  /** Forwarding stops at this many bytes; the rest is for the results of requests in flight. */
  readonly intentBytes: number
}

export function journalSize(maxBytes: number): JournalSize {
  const eighth = Math.floor(maxBytes / 8)
  return {
    segmentBytes: Math.min(SEGMENT_BYTES, Math.max(4096, eighth)),
    intentBytes: maxBytes - Math.min(RESERVE_BYTES, eighth),
  }
}
