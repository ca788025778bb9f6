const SEGMENT_BYTES = 4 * 1024 * 1024
const RESERVE_BYTES = 8 * 1024 * 1024

/** Size in bytes from which the active segment is closed early once all its results are acknowledged. */
export const EARLY_ROTATION_BYTES = 2 * 1024 * 1024

export type JournalSize = {
  /** Size in bytes at which a segment is closed. */
  readonly segmentBytes: number
  /**
   * Size in bytes at which forwarding stops. The space from this size to the size limit of the journal is reserved for
   * the results of requests in flight.
   */
  readonly intentBytes: number
}

export function journalSize(maxBytes: number): JournalSize {
  const eighth = Math.floor(maxBytes / 8)
  return {
    segmentBytes: Math.min(SEGMENT_BYTES, Math.max(4096, eighth)),
    intentBytes: maxBytes - Math.min(RESERVE_BYTES, eighth),
  }
}
