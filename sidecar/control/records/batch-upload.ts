import * as z from 'zod'
import { RecordsRefusal, RecordsReply } from '../../../core/wire/gateway/records.ts'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { LIMITS } from '../../../core/wire/schema/limits.ts'
import { type LostRange, mergeRanges } from '../../journal/lost-ranges.ts'
import type { Results } from '../../journal/result-queue.ts'
import type { Log } from '../../process/log.ts'
import { type ControlClient, type ControlReply, jsonOf } from '../client/client.ts'
import { createBatchWriter } from './batch-writer.ts'

export type Batch = { readonly records: Results; readonly lost: readonly LostRange[] }

export type RecordSink = {
  readonly processId: string
  /** Marks records as stored by the control plane, so that the journal removes them. */
  acknowledge(ids: Iterable<string>, lost: readonly LostRange[]): void
  /** Removes records that the control plane never accepts. The removed records count as lost. */
  abandon(ids: readonly string[], lost: readonly LostRange[]): void
}

export type BatchUploadDeps = {
  readonly client: ControlClient
  readonly journal: RecordSink
  readonly log: Pick<Log, 'error'>
}

/**
 * Creates the function that uploads a batch and acknowledges the stored records. The function rejects when the upload
 * of a record failed, with `Deferred` when the ingest quota is used up.
 */
export function createBatchUpload(deps: BatchUploadDeps): (batch: Batch) => Promise<void> {
  const { client, journal, log } = deps
  const write = createBatchWriter()

  async function upload(batch: Batch): Promise<void> {
    const reply = await client.post(SYNC_PATHS.records, write(batch), 10_000)
    if (reply.status === 400 || reply.status === 413 || reply.status === 422) return narrow(batch, reply)
    if (reply.status === 403) return withoutRefused(batch, reply)
    if (reply.status === 429) throw deferred(reply)
    const parsed = RecordsReply.safeParse(jsonOf(reply))
    if (reply.status !== 200 || !parsed.success)
      throw new Error(`the control plane answered ${reply.status} to an upload of records`)
    journal.acknowledge(parsed.data.accepted, batch.lost)
  }

  /**
   * Uploads both halves of a refused batch, recursively, until the invalid record is alone and blocks no other record.
   */
  async function narrow(batch: Batch, reply: ControlReply): Promise<void> {
    const [first, second] = halves(batch)
    if (second === undefined) return abandonUnreadable(batch, reply)
    await upload(first)
    await upload(second)
  }

  /** Reports the only record or lost range of a refused batch as lost. */
  async function abandonUnreadable({ records, lost }: Batch, reply: ControlReply): Promise<void> {
    const shown = [...records.values()].map((json) => json.toString())
    log.error(
      { records: shown, lost, status: reply.status },
      'the control plane rejects this record as invalid; the record is not sent again and is reported as lost',
    )
    await report([...records.values()].flatMap((json) => rangeOf(json, 'unreadable') ?? []))
    journal.abandon([...records.keys()], lost)
  }

  /**
   * Uploads the batch without the records that the control plane refuses because they belong to another gateway. The
   * refused records are reported as lost.
   */
  async function withoutRefused(batch: Batch, reply: ControlReply): Promise<void> {
    const { kept, refused } = splitRefused(batch, reply, journal.processId)
    // Any other reply with 403 concerns this gateway and is temporary, for example because its pod is not registered
    // yet.
    if (refused.records.size === 0 && refused.lost.length === 0)
      throw new Error('the control plane answered 403 to an upload of records')
    log.error(
      {
        records: [...refused.records.keys()].slice(0, 10),
        count: refused.records.size,
        lost: refused.lost.length,
      },
      'the control plane rejects records that belong to another gateway; the records are reported as lost',
    )
    if (kept.records.size > 0 || kept.lost.length > 0) await upload(kept)
    const records = [...refused.records.values()].flatMap((json) => rangeOf(json, 'refused') ?? [])
    await report([...records, ...refused.lost.map((range) => ({ ...range, reason: 'refused' as const }))])
    journal.abandon([...refused.records.keys()], refused.lost)
  }

  /**
   * Reports lost ranges. Resolves once the control plane has stored them; only then may their records leave the
   * journal.
   */
  async function report(ranges: readonly LostRange[]): Promise<void> {
    const merged = mergeRanges(ranges)
    for (let from = 0; from < merged.length; from += LIMITS.lostRangesMax) {
      await upload({ records: new Map(), lost: merged.slice(from, from + LIMITS.lostRangesMax) })
    }
  }

  return upload
}

/** Splits a batch. The second half is absent when the batch has at most one record or range. */
function halves({ records, lost }: Batch): readonly [Batch, Batch?] {
  const nothing: Results = new Map()
  if (records.size > 0 && lost.length > 0)
    return [
      { records, lost: [] },
      { records: nothing, lost },
    ]
  const entries = [...records]
  const middle = Math.ceil(Math.max(entries.length, lost.length) / 2)
  if (entries.length + lost.length <= 1) return [{ records, lost }]
  return [
    { records: new Map(entries.slice(0, middle)), lost: lost.slice(0, middle) },
    { records: new Map(entries.slice(middle)), lost: lost.slice(middle) },
  ]
}

function splitRefused(
  batch: Batch,
  reply: ControlReply,
  ownProcessId: string,
): { kept: Batch; refused: Batch } {
  const { data } = RecordsRefusal.safeParse(jsonOf(reply))
  const processes = new Set(data?.refused.process_ids)
  // Records of this process stay in the journal even if the control plane refuses the process, because the control
  // plane then refuses the stream of the process too.
  processes.delete(ownProcessId)
  const agents = new Set(data?.refused.agents)
  const ids = new Set(data?.refused.record_ids)
  const isRefused = (id: string, json: Buffer) => {
    if (ids.has(id)) return true
    const source = Source.safeParse(parse(json)).data
    return source !== undefined && (processes.has(source.process_id) || agents.has(source.agent ?? ''))
  }
  const refused = new Map([...batch.records].filter(([id, json]) => isRefused(id, json)))
  const kept = new Map([...batch.records].filter(([id]) => !refused.has(id)))
  const isForeign = ({ process_id, reason }: LostRange) => reason === undefined && processes.has(process_id)
  return {
    kept: { records: kept, lost: batch.lost.filter((range) => !isForeign(range)) },
    refused: { records: refused, lost: batch.lost.filter(isForeign) },
  }
}

const Source = z.object({ process_id: z.string(), agent: z.string().nullish() })
const Numbered = z.object({ process_id: z.string().max(128), seq: z.int().nonnegative() })

/** Returns the lost range of one record; null for a record that is damaged on disk. */
function rangeOf(json: Buffer, reason: 'refused' | 'unreadable'): LostRange | null {
  const { data } = Numbered.safeParse(parse(json))
  return data === undefined ? null : { process_id: data.process_id, from: data.seq, to: data.seq, reason }
}

function parse(json: Buffer): unknown {
  try {
    return JSON.parse(json.toString('utf8'))
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Error of an upload that the ingest quota refused (429). */
export class Deferred extends Error {
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
