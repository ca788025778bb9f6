import { gunzipSync } from 'node:zlib'
import { type Logger, pino } from 'pino'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db, Query } from '../../../controlplane/db/query.ts'
import { createSender } from '../../../controlplane/features/notifications/send.ts'
import {
  listRecordDestinations,
  type RecordDestination,
} from '../../../controlplane/features/record-export/rows.ts'
import {
  createRecordExport,
  type RecordExport,
} from '../../../controlplane/features/record-export/service.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'

export type ExportWorld = AsyncDisposable & {
  readonly db: Db
  readonly orgId: string
  readonly databaseUrl: string
  /** Starts a replica that exports to `url`. */
  replica(url: string, headersFile?: string): Promise<RecordExport>
  /** Stores records in one transaction; `before` runs before its end. */
  store(records: readonly TrafficRecord[], before?: () => Promise<void>): Promise<void>
  destination(): Promise<RecordDestination>
  /** Number of records that have not left. */
  pending(): Promise<number>
  /** Waits until the outbox is empty. */
  drained(timeoutMs?: number): Promise<void>
  log(): string
}

export async function startExportWorld(postgres: TestPostgres): Promise<ExportWorld> {
  const database = await postgres.createMigratedDatabase()
  const lines: string[] = []
  const log: Logger = pino({ level: 'trace' }, { write: (line: string) => lines.push(line) })
  const db = await openDb({ url: database.url, log })
  const { id: orgId } = await db.tx((q: Query) => ensureOrg(q))
  const replicas: RecordExport[] = []
  const pending = async () => {
    const { rows } = await db.query<{ n: number }>('select count(*) as n from record_outbox')
    return rows[0]?.n ?? 0
  }
  return {
    ...{ db, orgId, pending, databaseUrl: database.url },
    async replica(url, headersFile) {
      const settings = {
        url,
        headersFile: headersFile ?? null,
        resource: { 'deployment.environment': 'test' },
      }
      const send = createSender({ reach: 'private' })
      const replica = await createRecordExport({ db, log, settings, send, pollMs: 20, random: () => 0 })
      replicas.push(replica)
      return replica
    },
    store: (records, before) =>
      db.tx(async (q) => {
        await insertTraffic(q, orgId, records)
        await before?.()
      }),
    async destination() {
      const [found] = await listRecordDestinations(db)
      if (found === undefined) throw new Error('there is no destination')
      return found
    },
    async drained(timeoutMs) {
      await eventually('an empty outbox', async () => ((await pending()) === 0 ? true : null), timeoutMs)
    },
    log: () => lines.join(''),
    async [Symbol.asyncDispose]() {
      for (const replica of replicas) await replica[Symbol.asyncDispose]()
      await db.close()
    },
  }
}

let seq = 0

export function trafficRecord(changes: Partial<TrafficRecord> = {}): TrafficRecord {
  seq += 1
  return {
    ...{ id: `rec_${seq}`, process_id: 'proc_1', seq, time: new Date().toISOString() },
    ...{ gateway: 'team/main', agent: 'team/bot', connector: 'codehost', action_type: 'codehost.pr.merge' },
    ...{ decision: 'ALLOW', would: null, note: null, reason: null, approval_id: null, act_id: null },
    ...{ method: 'PUT', host: 'api.example.com', path: '/repos/o/r/pulls/1/merge?x=1', status: 200 },
    ...{ error_type: null, latency_ms: 12, overhead_ms: 0.5, bytes_in: 100, bytes_out: 200 },
    ...{ permission: null, policies: [], snapshot_version: 3, transport: 'connect' },
    ...changes,
  }
}

export type KeyValue = {
  readonly key: string
  readonly value: { readonly stringValue?: string; readonly intValue?: string; readonly doubleValue?: number }
}
export type Log = { readonly attributes: readonly KeyValue[] } & Readonly<Record<string, unknown>>
type Body = {
  readonly resourceLogs: ReadonlyArray<{
    readonly scopeLogs: ReadonlyArray<{ readonly logRecords: readonly Log[] }>
  }>
}

export type Reply = {
  /** 0: the request is read, and its connection is closed. */
  readonly status: number
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>>
}

/** A receiver of OTLP logs. Uids of `accepted` are of requests that it answered with 2xx. */
export type LogsStub = AsyncDisposable & {
  readonly url: string
  readonly recorder: Recorder
  readonly accepted: string[]
  /** Uids of each request, in order. */
  readonly requests: ReadonlyArray<readonly string[]>
  replyWith(reply: (uids: readonly string[]) => Reply): void
}

export async function startLogsStub(): Promise<LogsStub> {
  const accepted: string[] = []
  const requests: (readonly string[])[] = []
  let reply: (uids: readonly string[]) => Reply = () => ({ status: 200 })
  const recorder = await startRecorder({
    answer(request, response, seen) {
      request.on('end', () => {
        const uids = logsOf(seen.body, seen.header('content-encoding')).map(uidOf)
        requests.push(uids)
        const { status, body = {}, headers = {} } = reply(uids)
        if (status >= 200 && status < 300) accepted.push(...uids)
        if (status === 0) return request.socket.destroy()
        response.writeHead(status, { 'content-type': 'application/json', ...headers })
        response.end(JSON.stringify(body))
      })
    },
  })
  return {
    url: `${recorder.url}/v1/logs`,
    ...{ recorder, accepted, requests },
    replyWith(given) {
      reply = given
    },
    [Symbol.asyncDispose]: () => recorder.close(),
  }
}

/** Returns the log records of a request in the JSON encoding. */
export function logsOf(body: Buffer, encoding: string | undefined): readonly Log[] {
  const text = (encoding === 'gzip' ? gunzipSync(body) : body).toString()
  const { resourceLogs } = JSON.parse(text) as Body
  return resourceLogs.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords))
}

function uidOf({ attributes }: Log): string {
  return attributes.find(({ key }) => key === 'log.record.uid')?.value.stringValue ?? ''
}
