import type { Logger } from 'pino'
import { sleep } from '../../../runtime/sleep.ts'
import { newId } from '../../crypto/ids.ts'
import type { Db } from '../../db/query.ts'
import type { Send } from '../notifications/send.ts'
import { createExportBatch } from './export-batch.ts'
import { readHeaders } from './headers.ts'
import { listRecordDestinations, type RecordDestination } from './rows.ts'
import { createRecordSender } from './sender.ts'
import type { RecordExportSettings } from './settings.ts'
import { releaseLease, takeLease } from './store.ts'

export type RecordExportDeps = {
  readonly db: Db
  readonly log: Logger
  /** Settings of the export; null when this replica exports no records. */
  readonly settings: RecordExportSettings | null
  readonly send: Send
  /** Milliseconds between two reads of an empty outbox; default 1 s. */
  readonly pollMs?: number
  /** Returns a number between 0 and 1, for the jitter of waits. */
  readonly random?: () => number
}

/** Sends stored records to the destination until disposed. */
export type RecordExport = AsyncDisposable & {
  /** Returns a sentence for each destination that fails or is behind. */
  warnings(): Promise<readonly string[]>
}

/** Name of the destination of `RECORD_EXPORT_URL`. */
const DESTINATION = 'otlp'
const POLL_MS = 1_000
/**
 * Duration in seconds of the lease of a destination: the time for which only one replica may send to the destination.
 * The lease is longer than the time limit of a request (10 s), so that no lease expires during a request.
 */
const LEASE_S = 30
const STOP_GRACE_MS = 1_000
const BEHIND_S = 900

/**
 * Starts the export. Rejects when the file with the headers is invalid. Creates the row of the destination. From then
 * on, the statement that stores a record also queues the record for the destination.
 */
export async function createRecordExport(deps: RecordExportDeps): Promise<RecordExport> {
  const { db, settings } = deps
  const warnings = async () => (await listRecordDestinations(db)).flatMap(warningOf)
  if (settings === null) return { warnings, [Symbol.asyncDispose]: async () => undefined }
  await readHeaders(settings.headersFile)
  const by = newId('process')
  await takeLease(db, { name: DESTINATION, by, leaseS: LEASE_S })
  const stop = new AbortController()
  const cut = new AbortController()
  const sending = sendUntil(stop.signal, { ...deps, settings, by, cut: cut.signal })
  return {
    warnings,
    async [Symbol.asyncDispose]() {
      stop.abort()
      const timer = setTimeout(() => cut.abort(), STOP_GRACE_MS)
      await sending
      clearTimeout(timer)
    },
  }
}

type Sending = RecordExportDeps & {
  readonly settings: RecordExportSettings
  readonly by: string
  readonly cut: AbortSignal
}

async function sendUntil(stop: AbortSignal, deps: Sending): Promise<void> {
  const { db, log, settings, send, by, cut, pollMs = POLL_MS, random = Math.random } = deps
  const exportBatch = createExportBatch(settings, send)
  const sender = createRecordSender({ db, log, destination: DESTINATION, exportBatch, random })
  const round = async (): Promise<number> => {
    const lease = await takeLease(db, { name: DESTINATION, by, leaseS: LEASE_S })
    if (lease === null) return pollMs
    if (lease.waitMs > 0) return Math.min(lease.waitMs, pollMs)
    return (await sender.sendSome(cut)) === 'more' ? 0 : pollMs
  }
  while (!stop.aborted) {
    const waitMs = await round().catch((error: unknown) => {
      log.error({ err: error }, 'the export of records failed, trying again')
      return pollMs
    })
    await sleep(waitMs, stop)
  }
  await releaseLease(db, DESTINATION, by).catch((error: unknown) =>
    log.warn(
      { err: error },
      'the lease of the record export was not released, so another replica continues only after it expires',
    ),
  )
}

function warningOf({ name, lagS, attempts, lastError }: RecordDestination): readonly string[] {
  const behind = `The oldest record that was not exported to ${name} yet is ${Math.round(lagS / 60)} minutes old.`
  if (attempts > 0)
    return [
      `Records cannot be exported: ${lastError ?? 'the last request failed'}. Check RECORD_EXPORT_URL and its receiver.${lagS >= BEHIND_S ? ` ${behind}` : ''}`,
    ]
  return lagS < BEHIND_S
    ? []
    : [`${behind} Give the receiver more capacity, or check that a replica has RECORD_EXPORT_URL.`]
}
