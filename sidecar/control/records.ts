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
  const { client, journal, log } = deps
  const stopped = new AbortController()
  const write = createBatchWriter()
  const backoff = createBackoff(deps.random)
  let nap = new AbortController()
  let isAway = false
  let running: Promise<void> = Promise.resolve()

  /** True when there may be more. Rejects when the control plane is away. */
  async function round(): Promise<boolean> {
    const batch = await journal.nextBatch(LIMITS.recordBatchMax)
    if (batch.records.size === 0 && batch.lost.length === 0) return false
    await upload(batch)
    return batch.records.size === LIMITS.recordBatchMax
  }

  async function upload(batch: Batch): Promise<void> {
    const reply = await client.post(SYNC_PATHS.records, write(batch), 10_000)
    if (reply.status === 400 || reply.status === 413 || reply.status === 422) return narrow(batch, reply)
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

  async function attempt(): Promise<boolean> {
    try {
      const hasMore = await round()
      isAway = false
      backoff.reset()
      return hasMore
    } catch (error) {
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
      const ms = isAway ? backoff.next() : (deps.flushMs ?? LIMITS.recordFlushMs)
      await pause(ms, AbortSignal.any([nap.signal, stopped.signal]))
    }
  }

  return {
    start() {
      running = run()
    },
    wake() {
      // Asked for with every write while a batch waits: aborting twice would make an error for nobody each time.
      if (!isAway && !nap.signal.aborted) nap.abort()
    },
    async close(ms) {
      stopped.abort()
      const last = running.then(async () => {
        while ((await attempt()) && !isAway);
      })
      await Promise.race([last, pause(ms, new AbortController().signal)])
    },
  }
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
