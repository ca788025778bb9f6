import type { Logger } from 'pino'
import type { Db } from '../../db/query.ts'
import { backOffMs } from './back-off.ts'
import type { ExportBatch, ExportResult } from './export-batch.ts'
import type { QueuedRecord } from './otlp/logs.ts'
import { listPending, type PendingRecord } from './rows.ts'
import { backOff, noteFailure, noteSuccess, settle } from './store.ts'

export type RecordSenderDeps = {
  readonly db: Db
  readonly log: Logger
  readonly destination: string
  readonly exportBatch: ExportBatch
  /** Returns a number between 0 and 1, for the jitter of waits. */
  readonly random: () => number
}

/** Result of `sendSome`: more records may be in the outbox, the outbox is empty, or the destination is in back-off. */
export type Progress = 'more' | 'idle' | 'failed'

export type RecordSender = {
  /** Sends the oldest records in one request. The caller must have the lease of the destination. */
  sendSome(signal: AbortSignal): Promise<Progress>
}

const MAX_RECORDS = 500
/** Number of records set aside (refused, each in its own request) at which the destination counts as failing. */
const MAX_SET_ASIDE = 8

/**
 * Sends the records of the outbox. When the destination refuses the content of a request, the number of records per
 * request is halved, down to a single record. A refused single record is set aside. When the destination accepts a
 * later request, the record counts as rejected. When the destination refuses everything, the record stays in the
 * outbox and is sent again.
 */
export function createRecordSender(deps: RecordSenderDeps): RecordSender {
  const { db, log, destination: name } = deps
  let limit = MAX_RECORDS
  let setAside: PendingRecord[] = []

  async function accept(
    sent: readonly PendingRecord[],
    result: Extract<ExportResult, { outcome: 'accepted' }>,
  ) {
    const refused = setAside
    const { rejected, message } = result
    await db.tx(async (q) => {
      await settle(q, { name, positions: positionsOf(sent), rejected })
      await settle(q, { name, positions: positionsOf(refused), rejected: refused.length })
      await noteSuccess(q, name)
    })
    setAside = []
    limit = Math.min(MAX_RECORDS, limit * 2)
    logRejected(log, name, { rejected, message, refused })
  }

  async function fail(why: string, retryAfterS: number | null): Promise<Progress> {
    setAside = []
    const attempts = await noteFailure(db, name, why)
    const waitMs = backOffMs(attempts, deps.random(), retryAfterS)
    await backOff(db, name, waitMs)
    log.warn(
      { destination: name, attempts, why, retry_in_ms: Math.round(waitMs) },
      'the records could not be exported yet, trying again',
    )
    return 'failed'
  }

  async function refuse(sent: readonly PendingRecord[], why: string): Promise<Progress> {
    const [first] = sent
    if (first === undefined || sent.length > 1) {
      limit = Math.ceil(sent.length / 2)
      return 'more'
    }
    setAside.push(first)
    return setAside.length < MAX_SET_ASIDE ? 'more' : fail(why, null)
  }

  async function dropMissing(missing: readonly PendingRecord[]): Promise<void> {
    if (missing.length === 0) return
    await settle(db, { name, positions: positionsOf(missing), dropped: missing.length })
    log.error(
      { destination: name, records: missing.length },
      'records reached the end of their retention and were deleted before they were exported; check the receiver of the export',
    )
  }

  /** Reads the oldest records. Removes from the outbox the records whose rows retention has deleted. */
  async function read() {
    const pending = await listPending(db, { destination: name, without: positionsOf(setAside), limit })
    await dropMissing(pending.filter(({ record }) => record === null))
    const kept = pending.filter(isKept)
    return { kept, hadMissing: kept.length < pending.length }
  }

  async function send(
    records: ReadonlyArray<PendingRecord & QueuedRecord>,
    signal: AbortSignal,
  ): Promise<Progress> {
    const result = await deps.exportBatch(records, signal)
    if (result.outcome === 'accepted') {
      await accept(records, result)
      return 'more'
    }
    // It is unknown whether the destination received the aborted request. The records therefore stay in the outbox,
    // for this or another replica.
    if (signal.aborted) return 'idle'
    return result.outcome === 'failed' ? fail(result.why, result.retryAfterS) : refuse(records, result.why)
  }

  return {
    async sendSome(signal) {
      const { kept, hadMissing } = await read()
      if (kept.length > 0) return send(kept, signal)
      if (hadMissing) return 'more'
      return setAside.length === 0 ? 'idle' : fail('the destination refuses every record', null)
    },
  }
}

function logRejected(
  log: Logger,
  destination: string,
  given: { readonly rejected: number; readonly message: string; readonly refused: readonly PendingRecord[] },
): void {
  const { rejected, message, refused } = given
  if (rejected > 0)
    log.error(
      { destination, records: rejected, message },
      'the destination rejected records of the export, which are not sent again',
    )
  if (refused.length === 0) return
  const ids = refused.map(({ recordId }) => recordId)
  log.error(
    { destination, records: ids.length, record_ids: ids },
    'the destination rejected records of the export, which are not sent again',
  )
}

function isKept(pending: PendingRecord): pending is PendingRecord & QueuedRecord {
  return pending.record !== null
}

function positionsOf(records: readonly PendingRecord[]): readonly number[] {
  return records.map(({ position }) => position)
}
