import type { Log } from '../process/log.ts'
import type { LostRange } from './lost-ranges.ts'
import type { Results } from './result-queue.ts'
import type { JournalFiles } from './segments/files.ts'

/** Time limit of one flush in milliseconds. Beyond the limit, the flush counts as failed. */
export const SYNC_TIMEOUT_MS = 10_000

/**
 * `full`: the journal is at its size limit until the control plane acknowledges records. `unwritable`: a write or a
 * flush failed, and is retried every second.
 */
export type JournalState = 'ok' | 'full' | 'unwritable'

export type JournalBatch = {
  /** Results, which are valid until they are acknowledged or abandoned. */
  readonly records: Results
  readonly lost: readonly LostRange[]
}

export type JournalDeps = {
  /** Folder of the journal, which is created if missing. */
  readonly dir: string
  readonly processId: string
  /**
   * Size limit of the journal on disk, in bytes. Forwarding stops below the limit, so that results of requests in
   * flight still fit.
   */
  readonly maxBytes: number
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Called when a full batch of records is pending, so that the upload need not wait for its timer. */
  readonly onBatchReady?: () => void
  /** Interval of retries of an unwritable journal, in milliseconds. */
  readonly probeMs?: number
  /**
   * Returns true when the snapshot has `audit: sync`: an intent then counts as written once it is flushed to disk.
   * Called in every turn of the event loop that writes lines.
   */
  readonly isSync?: () => boolean
  /** Time limit of one flush in milliseconds. Beyond the limit, the flush counts as failed. */
  readonly syncTimeoutMs?: number
  readonly metrics?: JournalMetrics
  readonly files?: JournalFiles
}

export type JournalMetrics = {
  /** Counts one flush, which serves all intents that waited for it. `seconds` is its duration. */
  synced(seconds: number): void
  failed(operation: 'write' | 'sync'): void
}
