import * as z from 'zod'
import { LIMITS } from '../../core/wire/limits.ts'
import { RecordsReply, SYNC_PATHS } from '../../core/wire/sync.ts'
import type { Results } from '../journal/backlog.ts'
import type { LostRange } from '../journal/lost.ts'
import { createBackoff, pause } from './backoff.ts'
import { type ControlClient, type ControlReply, jsonOf } from './client.ts'

/** The journal as the uploader sees it. */
export type RecordSource = {
  nextBatch(max: number): Promise<Batch>
  acknowledge(ids: Iterable<string>, lost: readonly LostRange[]): void
}

/** Carries the journal to the control plane: every 100 ms, or as soon as 500 records wait. */
export type Uploader = {
  start(): void
  /** Batches that the ingest quota refused since the start. They are sent again. */
  readonly deferrals: number
  /** A batch is full. */
  wake(): void
  /** One last round, for at most `ms`; then stops. */
  close(ms: number): Promise<void>
}

export type UploaderDeps = {
  readonly client: ControlClient
  readonly journal: RecordSource
  readonly random: () => number
  readonly log: {
    warn(fields: object, message: string): void
    error(fields: object, message: string): void
  }
  readonly flushMs?: number
}

type Batch = { readonly records: Results; readonly lost: readonly LostRange[] }

export function createUploader(deps: UploaderDeps): Uploader {
  const { journal, log } = deps
  const stopped = new AbortController()
  const upload = createUpload(deps)
  const backoff = createBackoff(deps.random)
  let nap = new AbortController()
  let isAway = false
  let deferredMs: number | null = null
  let deferrals = 0
  let running: Promise<void> = Promise.resolve()

  /** True when there may be more. Rejects when the control plane is away. */
  async function round(): Promise<boolean> {
    const batch = await journal.nextBatch(LIMITS.recordBatchMax)
    if (batch.records.size === 0 && batch.lost.length === 0) return false
    await upload(batch)
    return batch.records.size === LIMITS.recordBatchMax
  }

  /** The control plane takes no more for now: the batch stays in the journal. */
  function wait({ retryAfterMs }: Deferred): false {
    if (deferredMs === null)
      log.warn({ retryAfterMs }, 'records are uploaded later: the ingest quota is used up')
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
      await pause(ms, AbortSignal.any([nap.signal, stopped.signal]))
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
      // Asked for with every write while a batch waits: aborting twice would make an error for nobody each time.
      if (!isAway && deferredMs === null && !nap.signal.aborted) nap.abort()
    },
    async close(ms) {
      stopped.abort()
      const last = running.then(async () => {
        while ((await attempt()) && !isAway && deferredMs === null);
      })
      await Promise.race([last, pause(ms, new AbortController().signal)])
    },
  }
}

/** Uploads a batch and acknowledges what was stored. Rejects when nothing was. */
function createUpload({ client, journal, log }: UploaderDeps): (batch: Batch) => Promise<void> {
  const write = createBatchWriter()

  async function upload(batch: Batch): Promise<void> {
    const reply = await client.post(SYNC_PATHS.records, write(batch), 10_000)
    if (reply.status === 400 || reply.status === 413 || reply.status === 422) return narrow(batch, reply)
    if (reply.status === 429) throw deferred(reply)
    const parsed = RecordsReply.safeParse(jsonOf(reply))
    if (reply.status !== 200 || !parsed.success)
      throw new Error(`records: the control plane answered ${reply.status}`)
    journal.acknowledge(parsed.data.accepted, batch.lost)
  }

  /** One record that the control plane cannot read must not hold up all others: halves until it stands alone. */
  async function narrow(batch: Batch, reply: ControlReply): Promise<void> {
    const entries = [...batch.records]
    if (entries.length <= 1) {
      log.error(
        { records: entries.map(([, json]) => json.toString()), status: reply.status },
        'the control plane refuses the form of this record',
      )
      journal.acknowledge(batch.records.keys(), batch.lost)
      return
    }
    const middle = Math.ceil(entries.length / 2)
    await upload({ records: new Map(entries.slice(0, middle)), lost: batch.lost })
    await upload({ records: new Map(entries.slice(middle)), lost: [] })
  }

  return upload
}

/** The control plane answered 429. */
class Deferred extends Error {
  readonly retryAfterMs: number
  constructor(retryAfterMs: number) {
    super('records: the ingest quota is used up')
    this.retryAfterMs = retryAfterMs
  }
}

const RetryBody = z.object({ retry_after: z.number().min(1).max(600) })

function deferred(reply: ControlReply): Deferred {
  const body = RetryBody.safeParse(jsonOf(reply))
  return new Deferred((body.success ? body.data.retry_after : 1) * 1_000)
}

/**
 * Batches as JSON, put together by hand in one space that is used again: only one is on its way at a time. As text each
 * would be half a megabyte, made twice, which goes straight among the old objects.
 */
function createBatchWriter(): (batch: Batch) => Buffer {
  let space = Buffer.alloc(0)
  return ({ records, lost }) => {
    const tail = `],"lost":${JSON.stringify(lost)}}`
    let bytes = HEAD.length + Buffer.byteLength(tail)
    for (const json of records.values()) bytes += json.length + 1
    if (bytes > space.length) space = Buffer.allocUnsafeSlow(bytes)
    let at = space.write(HEAD)
    for (const json of records.values()) {
      if (at > HEAD.length) at += space.write(',', at)
      space.set(json, at)
      at += json.length
    }
    at += space.write(tail, at)
    return space.subarray(0, at)
  }
}

const HEAD = '{"records":['
