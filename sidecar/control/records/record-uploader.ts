import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { sleep } from '../../../runtime/sleep.ts'
import type { Log } from '../../process/log.ts'
import { createControlBackOff } from '../back-off.ts'
import type { ControlClient } from '../client/client.ts'
import { type Batch, createBatchUpload, Deferred, type RecordSink } from './batch-upload.ts'

/** The part of the journal that the uploader uses. */
export type RecordSource = RecordSink & { nextBatch(max: number): Promise<Batch> }

/** Uploads the records of the journal to the control plane every 100 ms, or as soon as 500 records are pending. */
export type Uploader = {
  start(): void
  /** Number of uploads that the ingest quota refused since the start. Their batches are retried. */
  readonly deferrals: number
  /** Starts the next upload immediately, because a batch is full. */
  wake(): void
  /** Uploads the pending records for at most `ms` milliseconds, then stops. */
  close(ms: number): Promise<void>
}

export type UploaderDeps = {
  readonly client: ControlClient
  readonly journal: RecordSource
  readonly random: () => number
  readonly log: Pick<Log, 'warn' | 'error'>
  readonly flushMs?: number
}

export function createUploader(deps: UploaderDeps): Uploader {
  const { journal, log } = deps
  const stopped = new AbortController()
  const upload = createBatchUpload(deps)
  const backoff = createControlBackOff(deps.random)
  let nap = new AbortController()
  let isAway = false
  let deferredMs: number | null = null
  let deferrals = 0
  let running: Promise<void> = Promise.resolve()

  /**
   * Uploads one batch. Resolves with true when more records may be pending. Rejects when the control plane is
   * unreachable.
   */
  async function round(): Promise<boolean> {
    const batch = await journal.nextBatch(LIMITS.recordBatchMax)
    if (batch.records.size === 0 && batch.lost.length === 0) return false
    await upload(batch)
    return batch.records.size === LIMITS.recordBatchMax || batch.lost.length === LIMITS.lostRangesMax
  }

  /**
   * Handles a batch that the ingest quota refused. The batch stays in the journal, and the next upload starts after
   * `retryAfterMs`. Returns false.
   */
  function wait({ retryAfterMs }: Deferred): false {
    if (deferredMs === null)
      log.warn(
        { retryAfterMs },
        'record upload deferred: the ingest quota is used up; the records stay in the journal and are sent later',
      )
    deferredMs = retryAfterMs
    deferrals++
    return false
  }

  async function attempt(): Promise<boolean> {
    try {
      const hasMore = await round()
      isAway = false
      deferredMs = null
      backoff.reset()
      return hasMore
    } catch (error) {
      if (error instanceof Deferred) return wait(error)
      if (!isAway && !stopped.signal.aborted)
        log.warn({ err: error }, 'records cannot be uploaded; they stay in the journal')
      isAway = true
      return false
    }
  }

  async function run(): Promise<void> {
    while (!stopped.signal.aborted) {
      if (await attempt()) continue
      nap = new AbortController()
      const ms = deferredMs ?? (isAway ? backoff.next() : (deps.flushMs ?? LIMITS.recordFlushMs))
      await sleep(ms, AbortSignal.any([nap.signal, stopped.signal]))
    }
  }

  return {
    get deferrals() {
      return deferrals
    },
    start() {
      running = run()
    },
    wake() {
      // The journal calls this method with every write while a full batch is pending. Each `abort` would create an
      // error, so repeated calls are skipped.
      if (!isAway && deferredMs === null && !nap.signal.aborted) nap.abort()
    },
    async close(ms) {
      stopped.abort()
      const last = running.then(async () => {
        while ((await attempt()) && !isAway && deferredMs === null);
      })
      await Promise.race([last, sleep(ms)])
    },
  }
}
