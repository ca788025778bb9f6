import type { Readable } from 'node:stream'

/** Request body that a listener provides. The body is read once; `forward` repeats bytes that `buffer` has read. */
export type RequestBody = {
  /** True when the framing declares no body. */
  readonly isEmpty: boolean
  /** Returns the whole body if it has arrived, otherwise null. The bytes stay available for `forward`. */
  arrived(): Buffer | null
  /**
   * Resolves with the whole body; null when the body is longer than `limit` bytes. The bytes stay available for
   * `forward`. Rejects when the client disconnects.
   */
  buffer(limit: number): Promise<Buffer | null>
  /**
   * Resolves with the first bytes when `scan` is satisfied, `limit` bytes have arrived, or the body ends. The bytes
   * stay available for a later reader. `scan` receives all bytes so far and returns the number of bytes that it needs
   * before its next call; a number that has already arrived ends the read.
   */
  peek(limit: number, scan: (bytes: Buffer) => number): Promise<Buffer>
  /**
   * Resolves with true once the whole body, or more than `limit` bytes, have arrived, and with false after `ms`
   * milliseconds. The bytes remain readable. Rejects when the client disconnects.
   */
  endsWithin(ms: number, limit: number): Promise<boolean>
  /** Returns the whole body if it has arrived, otherwise a stream; null when the body is empty. */
  forward(): Buffer | Readable | null
  /** Number of body bytes received so far. */
  readonly bytesIn: number
  /** Discards buffered bytes. The body is not read again. */
  release(): void
}
