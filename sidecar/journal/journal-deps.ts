import type { Log } from '../process/log.ts'
import type { LostRange } from './lost-ranges.ts'
import type { JournalFiles } from './segments/files.ts'

/** `full`: over its size until the control plane acknowledges. `unwritable`: the disk said no; tried again each second. */
export type JournalState = 'ok' | 'full' | 'unwritable'

export type JournalBatch = {
  /** Record JSON by record id. */
  readonly records: ReadonlyMap<string, Buffer>
  readonly lost: readonly LostRange[]
}

export type JournalDeps = {
  /** Created when missing. */
  readonly dir: string
  readonly processId: string
  /** Forwarding stops short of this many bytes on disk; the rest is for the results of what is under way. */
  readonly maxBytes: number
  readonly log: Pick<Log, 'info' | 'warn'>
  /** A whole batch is waiting and need not wait for the timer. */
  readonly onBatchReady?: () => void
  /** How often an unwritable journal is tried again. */
  readonly probeMs?: number
  /** `audit: sync`: an intent is written once it is on the disk. Read anew for every turn of the event loop. */
  readonly isSync?: () => boolean
  /** A flush that takes longer counts as failed. */
  readonly syncTimeoutMs?: number
  readonly metrics?: JournalMetrics
  readonly files?: JournalFiles
}

export type JournalMetrics = {
  /** One flush, for all intents that waited for it. */
  synced(seconds: number): void
  failed(operation: 'write' | 'sync'): void
}
