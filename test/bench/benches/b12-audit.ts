import { randomUUID } from 'node:crypto'
import pg from 'pg'
import { type Logger, pino } from 'pino'
import { createAuditExport } from '../../../controlplane/services/audit-export.ts'
import { createAuditReading } from '../../../controlplane/services/audit-reading.ts'
import { createRecords } from '../../../controlplane/services/records.ts'
import { openDb } from '../../../controlplane/store/db.ts'
import { migrate } from '../../../controlplane/store/migrate.ts'
import { ensureOrg } from '../../../controlplane/store/orgs.ts'
import type { Db } from '../../../controlplane/store/query.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { startPostgres } from '../../support/postgres.ts'
import type { Bench } from '../main.ts'
import type { Row } from '../support/report.ts'

const SMALL = 10_000
const LARGE = 1_000_000
const AGENTS = 100
const AT_ONCE = 50_000
const ROUNDS = 40
/** Flat: what a hundred times as many rows may cost more. */
const GOAL = 1.5

/**
 * Reading the audit log and adding to it, exporting it and removing from it, with 10^4 and with 10^6 events of 100 agents in it. Both are measured in one
 * run on one server, as services on a real database; a median of many, because a single one is noise.
 */
export const audit: Bench = async ({ isQuick }) => {
  const server = await startPostgres()
  const log = pino({ level: 'silent' })
  const database = await server.createDatabase()
  const db = await openDb({ url: database.url, log })
  try {
    await migrate(db)
    const { id: orgId } = await db.tx((q) => ensureOrg(q))
    const large = isQuick ? LARGE / 10 : LARGE
    await fill(db, orgId, SMALL)
    const before = await measure(db, orgId, log)
    await age(database.adminUrl)
    await fill(db, orgId, large - SMALL)
    const after = await measure(db, orgId, log)
    return Object.keys(before).map((figure) =>
      row(`${figure}, ms at ${large} events`, before[figure], after[figure]),
    )
  } finally {
    await db.close()
    await server.stop()
  }
}

type Figures = Readonly<Record<string, number>>

function row(figure: string, theirs = Number.NaN, ours = Number.NaN): Row {
  const goal = figure.startsWith('first page of a process') ? null : GOAL
  return { bench: 'B12', figure: `audit: ${figure}`, ours, peer: `at ${SMALL}`, theirs, goal }
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

/** As in any log, what has lower numbers has earlier times: what was just ingested has to be as old as what follows. */
async function age(adminUrl: string): Promise<void> {
  const client = new pg.Client({ connectionString: adminUrl })
  await client.connect()
  await client.query("update audit_events set created_at = now() - interval '1 day'")
  await client.end()
}

async function measure(db: Db, orgId: string, log: Logger): Promise<Figures> {
  const reading = createAuditReading({ db, orgId })
  const records = createRecords({ db, orgId, log })
  const processId = `proc_${randomUUID()}`
  let seq = 0
  const page = (agentId: string | null, limit: number, offset: number) =>
    reading.page(agentId, { limit, offset })
  // Counting from nothing happens once per process; it is told, and not part of what follows.
  const first = await medianMs(1, () => page(null, 50, 0))
  return {
    'newest 50': await medianMs(ROUNDS, () => page(null, 50, 0)),
    'newest 500': await medianMs(ROUNDS, () => page(null, 500, 0)),
    '50 from offset 2,000': await medianMs(ROUNDS, () => page(null, 50, 2_000)),
    "an agent's newest 50": await medianMs(ROUNDS, () => page('agt_7', 50, 0)),
    'ingest of 100 refused requests': await medianMs(ROUNDS, () =>
      records.ingest(
        { name: 'default/local', processId },
        { records: Array.from({ length: 100 }, () => refused(processId, seq++)), lost: [] },
      ),
    ),
    'export of the oldest 5,000 as CSV': await medianMs(5, () => exportPages(db, orgId, 5)),
    'retention removes 2,000': await medianMs(5, () => purge(db, orgId, 2_000)),
    'first page of a process': first,
  }
}

/** Of 1,000 events each. */
async function exportPages(db: Db, orgId: string, pages: number): Promise<void> {
  let left = pages
  for await (const text of createAuditExport({ db, orgId }).csv({})) {
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

async function medianMs(rounds: number, work: () => Promise<unknown>): Promise<number> {
  const times: number[] = []
  // The first few prepare statements and fill caches.
  for (let round = rounds === 1 ? 0 : -5; round < rounds; round++) {
    const from = performance.now()
    await work()
    if (round >= 0) times.push(performance.now() - from)
  }
  return times.toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? Number.NaN
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
