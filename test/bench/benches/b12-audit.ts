import { randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { createAuditExport } from '../../../controlplane/features/audit/export/service.ts'
import { type AuditReading, createAuditReading } from '../../../controlplane/features/audit/reading.ts'
import { createRecords, type Records } from '../../../controlplane/features/traffic/ingest.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench } from '../main.ts'
import { median } from '../support/measure.ts'
import type { Row } from '../support/report.ts'

const SMALL = 10_000
const LARGE = 1_000_000
const AGENTS = 100
const AT_ONCE = 50_000
const ROUNDS = 40
/** Flat: what a hundred times as many rows may cost more. */
const GOAL = 1.5

/**
 * Reading the audit log and adding to it, exporting it and removing from it, with 10^4 and with 10^6 events of 100
 * agents in it: two databases of one server, asked in turns, medians.
 */
export const audit: Bench = async ({ isQuick }) => {
  const server = await startPostgres()
  const large = isQuick ? LARGE / 10 : LARGE
  const logs: EventLog[] = []
  try {
    for (const size of [SMALL, large]) logs.push(await openLog((await server.createDatabase()).url, size))
    const rows: Row[] = []
    for (const [figure, given] of Object.entries(FIGURES)) {
      const [theirs, ours] = await mediansMs(logs, given)
      rows.push(row(`${figure}, ms at ${large} events`, theirs, ours))
    }
    return rows
  } finally {
    for (const { db } of logs) await db.close()
    await server.stop()
  }
}

/** A service on a database of its own. */
type EventLog = {
  readonly db: Db
  readonly orgId: string
  readonly reading: AuditReading
  readonly records: Records
  readonly processId: string
  seq: number
}

async function openLog(url: string, size: number): Promise<EventLog> {
  const log = pino({ level: 'silent' })
  const db = await openDb({ url, log })
  await migrate(db)
  const { id: orgId } = await db.tx((q) => ensureOrg(q))
  await fill(db, orgId, size)
  const reading = createAuditReading({ db, orgId })
  // Somebody has looked at it before: whoever starts later counts on from there.
  await reading.page({ of: 'all' }, { limit: 50, offset: 0 })
  const processId = `proc_${randomUUID()}`
  return { db, orgId, reading, records: createRecords({ db, orgId, log }), processId, seq: 0 }
}

type Figure = { readonly rounds: number; readonly work: (log: EventLog) => Promise<unknown> }

const page =
  (agentId: string | null, limit: number, offset: number) =>
  ({ reading }: EventLog) =>
    reading.page(agentId === null ? { of: 'all' } : { of: 'agent', key: agentId }, { limit, offset })

const FIGURES: Readonly<Record<string, Figure>> = {
  'newest 50': { rounds: ROUNDS, work: page(null, 50, 0) },
  'newest 500': { rounds: ROUNDS, work: page(null, 500, 0) },
  '50 from offset 2,000': { rounds: ROUNDS, work: page(null, 50, 2_000) },
  "an agent's newest 50": { rounds: ROUNDS, work: page('agt_7', 50, 0) },
  'first page of a process that starts': {
    rounds: ROUNDS,
    work: (log) => page(null, 50, 0)({ ...log, reading: createAuditReading(log) }),
  },
  'ingest of 100 refused requests': {
    rounds: ROUNDS,
    work: (log) =>
      log.records.ingest(
        { gatewayId: 'gw_1', name: 'default/local', processId: log.processId, sidecar: null },
        { records: Array.from({ length: 100 }, () => refused(log.processId, log.seq++)), lost: [] },
      ),
  },
  'export of the oldest 5,000 as CSV': { rounds: 9, work: ({ db, orgId }) => exportPages(db, orgId, 5) },
  'retention removes 2,000': { rounds: 9, work: ({ db, orgId }) => purge(db, orgId, 2_000) },
}

function row(figure: string, theirs = Number.NaN, ours = Number.NaN): Row {
  return { bench: 'B12', figure: `audit: ${figure}`, ours, peer: `at ${SMALL}`, theirs, goal: GOAL }
}

/** Events that are old enough to be counted once and for all, as in any log that did not begin a minute ago. */
async function fill(db: Db, orgId: string, count: number): Promise<void> {
  // A statement may take a minute, and the machine may be busy.
  for (let left = count; left > 0; left -= AT_ONCE) await insert(db, orgId, Math.min(left, AT_ONCE))
  await db.query('vacuum analyze audit_events')
}

async function insert(db: Db, orgId: string, count: number): Promise<void> {
  await db.query(
    `insert into audit_events (event_type, org_id, agent_id, action_request_id, details, created_at)
     select case n % 2 when 0 then 'action.requested' else 'action.allowed' end, $1, 'agt_' || n % ${AGENTS}, 'act_' || n / 2,
       jsonb_build_object('action_type', 'codehost.issue.create', 'reason', 'matched', 'risk_score', n % 100),
       now() - interval '1 day'
     from generate_series(1, $2) as n`,
    [orgId, count],
  )
}

/** Of 1,000 events each. */
async function exportPages(db: Db, orgId: string, pages: number): Promise<void> {
  let left = pages
  for await (const text of createAuditExport({
    read: (namespaces) => createScopedQuery(db, namespaces),
    orgId,
  }).csv('all', {})) {
    if (text === '') throw new Error('a page of the export is empty')
    left -= 1
    if (left === 0) return
  }
  throw new Error(`the export ended ${left} pages too early`)
}

/** Makes them first, which costs the same at any size. */
async function purge(db: Db, orgId: string, count: number): Promise<void> {
  await db.query(
    `insert into audit_events (event_type, org_id, details, created_at)
     select 'action.requested', $1, '{}', now() - interval '400 days' from generate_series(1, $2)`,
    [orgId, count],
  )
  const { rows } = await db.query<{ purged: number }>(
    "select purge_audit_events($1, now() - interval '365 days') as purged",
    [orgId],
  )
  if (rows[0]?.purged !== count) throw new Error(`${rows[0]?.purged} of ${count} events were removed`)
}

/** Of each log, in their order. */
async function mediansMs(logs: readonly EventLog[], { rounds, work }: Figure): Promise<readonly number[]> {
  const times = logs.map((): number[] => [])
  // The first few prepare statements and fill caches.
  for (let round = -5; round < rounds; round++) {
    for (const [index, log] of logs.entries()) {
      const from = performance.now()
      await work(log)
      if (round >= 0) times[index]?.push(performance.now() - from)
    }
  }
  return times.map((list) => median(list))
}

function refused(processId: string, seq: number): TrafficRecord {
  return {
    id: `rec_${randomUUID()}`,
    process_id: processId,
    seq,
    time: new Date().toISOString(),
    gateway: 'default/local',
    agent: null,
    connector: 'codehost',
    action_type: 'codehost.repo.delete',
    decision: 'DENY',
    would: null,
    note: null,
    reason: 'policy',
    approval_id: null,
    act_id: `act_${seq}`,
    method: 'DELETE',
    host: 'api.example.com',
    path: '/repos/acme/site',
    status: 403,
    error_type: null,
    latency_ms: 1,
    overhead_ms: 1,
    bytes_in: 0,
    bytes_out: 0,
    permission: null,
    policies: [],
    snapshot_version: 1,
    transport: 'http',
  }
}
