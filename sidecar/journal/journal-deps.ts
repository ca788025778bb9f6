import type { Log } from '../process/log.ts'
import type { LostRange } from './lost-ranges.ts'
import type { JournalFiles } from './segments/files.ts'

/**
 * `full`: at its size limit until the control plane acknowledges records. `unwritable`: a write failed; retried every
 * second.
 */
export type JournalState = 'ok' | 'full' | 'unwritable'

export type JournalBatch = {
  readonly records: ReadonlyMap<string, Buffer>
  readonly lost: readonly LostRange[]
}

export type JournalDeps = {
  /** Created if missing. */
  readonly dir: string
  readonly processId: string
  /** Size limit on disk. Forwarding stops below it, so that results of requests in flight still fit. */
  readonly maxBytes: number
  readonly log: Pick<Log, 'info' | 'warn'>
  /** A full batch is pending and can be uploaded before the timer. */
  readonly onBatchReady?: () => void
  /** Interval of retries of an unwritable journal, in milliseconds. */
  readonly probeMs?: number
  /** `audit: sync`: an intent counts as written once it is flushed to disk. Read in every turn of the event loop. */
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
