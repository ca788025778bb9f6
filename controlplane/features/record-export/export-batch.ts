import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import * as z from 'zod'
import { VERSION } from '../../version.ts'
import type { Send, SendReply } from '../notifications/send.ts'
import { readHeaders } from './headers.ts'
import { otlpLogs, type QueuedRecord } from './otlp/logs.ts'
import type { RecordExportSettings } from './settings.ts'

/** Answer of a destination to one request. */
export type ExportResult =
  /**
   * The destination accepted the request. `rejected`: number of records of the request that the destination
   * refuses for good.
   */
  | { readonly outcome: 'accepted'; readonly rejected: number; readonly message: string }
  /**
   * The destination refuses the content of the request. A smaller request, or a request without the refused record, may
   * be accepted.
   */
  | { readonly outcome: 'refused'; readonly why: string }
  | { readonly outcome: 'failed'; readonly why: string; readonly retryAfterS: number | null }

export type ExportBatch = (records: readonly QueuedRecord[], signal: AbortSignal) => Promise<ExportResult>

const compress = promisify(gzip)
const MAX_REPLY_BYTES = 64 * 1024

/** Statuses by which a destination refuses the content of a request: malformed, too large, not processable. */
const REFUSING = new Set([400, 413, 422])

/** Creates the function that sends records in one request of OTLP/HTTP (JSON encoding, gzip). */
export function createExportBatch(settings: RecordExportSettings, send: Send): ExportBatch {
  return async (records, signal) => {
    try {
      const headers = {
        ...(await readHeaders(settings.headersFile)),
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'user-agent': `chaperone/${VERSION}`,
      }
      const body = await compress(otlpLogs(records, settings.resource))
      return judge(await send({ url: settings.url, headers, body, readBytes: MAX_REPLY_BYTES, signal }))
    } catch (error) {
      return {
        outcome: 'failed',
        why: error instanceof Error ? error.message : String(error),
        retryAfterS: null,
      }
    }
  }
}

/**
 * Returns the result for a reply. Only a refusal of the content is final. A wrong path, a missing right and a redirect
 * are errors of the configuration, which an operator corrects; the records stay in the outbox until the configuration
 * is correct.
 */
function judge({ status, retryAfterS, body }: SendReply): ExportResult {
  if (status >= 200 && status < 300) return { outcome: 'accepted', ...partialSuccess(body) }
  const why = `answered ${status}`
  if (REFUSING.has(status)) return { outcome: 'refused', why }
  return { outcome: 'failed', why, retryAfterS }
}

/**
 * Body of a reply (`ExportLogsServiceResponse`). OTLP encodes 64-bit integers as decimal strings in JSON, but some
 * servers send numbers.
 */
const Reply = z.looseObject({
  partialSuccess: z
    .looseObject({
      rejectedLogRecords: z.coerce.number().int().nonnegative().catch(0),
      errorMessage: z.string().catch(''),
    })
    .nullish(),
})

function partialSuccess(body: string): { readonly rejected: number; readonly message: string } {
  const reply = Reply.safeParse(parsed(body))
  const partial = reply.success ? reply.data.partialSuccess : null
  return { rejected: partial?.rejectedLogRecords ?? 0, message: partial?.errorMessage ?? '' }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return {}
  }
}
