import type { Log } from '../process/log.ts'
import type { LostRange } from './lost-ranges.ts'
import type { JournalFiles } from './segments/files.ts'

/**
 * `full`: the journal is at its size limit until the control plane acknowledges records. `unwritable`: a write failed,
 * and is retried every second.
 */
export type JournalState = 'ok' | 'full' | 'unwritable'

export type JournalBatch = {
  readonly records: ReadonlyMap<string, Buffer>
  readonly lost: readonly LostRange[]
}

export type JournalDeps = {
  /** Folder of the journal, which is created if missing. */
  readonly dir: string
  readonly processId: string
  /** Size limit on disk. Forwarding stops below it, so that results of requests in flight still fit. */
  readonly maxBytes: number
  readonly log: Pick<Log, 'info' | 'warn'>
  /** Called when a full batch is pending, which can be uploaded before the timer. */
  readonly onBatchReady?: () => void
  /** Interval of retries of an unwritable journal, in milliseconds. */
  readonly probeMs?: number
  /**
   * Returns true with `audit: sync`: an intent then counts as written once it is flushed to disk. Called in every turn
   * of the event loop.
   */
  readonly isSync?: () => boolean
  /** Limit of one flush in milliseconds; beyond it the flush has failed. */
  readonly syncTimeoutMs?: number
  readonly metrics?: JournalMetrics
  readonly files?: JournalFiles
}

export type JournalMetrics = {
  /** Counts one flush, which serves all intents that waited for it. */
  synced(seconds: number): void
  failed(operation: 'write' | 'sync'): void
}
