import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db, Query } from '../../../controlplane/db/query.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { countActions } from '../../../controlplane/features/actions/rows.ts'
import { searchAudit } from '../../../controlplane/features/audit/search-store.ts'
import {
  busiestAgents,
  countByTime,
  topDenials,
} from '../../../controlplane/features/overview/activity-store.ts'
import { getTrafficRecord } from '../../../controlplane/features/traffic/record-store.ts'
import { rollUp } from '../../../controlplane/features/traffic/rollups/store.ts'
import { listTraffic, listTrafficOfAction } from '../../../controlplane/features/traffic/rows.ts'
import type { TrafficFilter } from '../../../controlplane/features/traffic/store.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { type PlanNode, plansOf, scannedTables, sortedRows, touchedRows } from '../../support/query-plan.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

/** Five days of traffic and of audit events: every 5,000th record is held, every 100th refused. */
const RECORDS = 40_000
const SEARCHED = 400
const DAY_MS = 86_400_000
/** The newest record. Every day has its full share of records, because PostgreSQL reads all of a table that has only a few. */
const END_OF_TODAY = "(date_trunc('day', now() at time zone 'utc') + interval '1 day') at time zone 'utc'"
let server: TestPostgres
let db: Db
let orgId: string

beforeAll(async () => {
  server = await workerPostgres()
  db = await openDb({ url: (await server.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  orgId = (await db.tx((q) => ensureOrg(q))).id
  await db.query(
    `select ensure_traffic_days(array(select (now() at time zone 'utc')::date - n from generate_series(0, 6) n))`,
  )
  await db.query(
    `insert into traffic (id, time, seq, process_id, org_id, gateway, agent, connector, action_type, decision, reason, act_id,
       approval_id, method, host, path, latency_ms, overhead_ms, bytes_in, bytes_out, transport)
     select 'rec_' || n, ${END_OF_TODAY} - n * interval '432 s' / 40, n, 'p', $1, 'team/main', 'team/bot-' || n % 10, 'codehost',
       'codehost.repo.get', d.decision, case d.decision when 'DENY' then 'permission' end,
       case when d.decision <> 'ALLOW' then 'act_' || n end, case d.decision when 'HOLD' then 'apr_' || n end,
       'GET', 'api.example', '/repos/' || n, n % 100, 1, 0, 0, 'forward'
     from generate_series(1, $2::int) n cross join lateral (
       select case when n % 5000 = 0 then 'HOLD' when n % 100 = 0 then 'DENY' else 'ALLOW' end as decision) d`,
    [orgId, RECORDS],
  )
  await db.query(
    `insert into audit_events (event_type, org_id, agent_id, created_at, details)
     select case when n % 5000 = 0 then 'user.login' else 'action.denied' end, $1, 'agent_' || n % 10,
       now() - ($2 - n) * interval '432 s' / 40, '{}'
     from generate_series(1, $2::int) n`,
    [orgId, RECORDS],
  )
  await db.tx((q) => rollUp(q, { increments: RECORDS, records: RECORDS }))
  await db.query('vacuum analyze')
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})

const all = (q: Query) => createScopedQuery(q, 'all')
const team = (q: Query) => createScopedQuery(q, new Set(['team']))
const list =
  (filter: TrafficFilter, scoped = all) =>
  (q: Query) =>
    listTraffic(scoped(q), orgId, { filter, limit: 50, maxSearched: SEARCHED })
const search = (filter: Parameters<typeof searchAudit>[2]['filter']) => (q: Query) =>
  searchAudit(all(q), orgId, { filter, before: null, limit: 50, maxSearched: SEARCHED })
const ago = (ms: number) => new Date(Math.floor((Date.now() - ms) / 60_000) * 60_000).toISOString()

const READINGS = {
  'the newest records': list({}),
  'held records': list({ decision: 'HOLD' }),
  'held records of an agent': list({ decision: 'HOLD', agent: 'team/bot-1' }),
  'refused records': list({ decision: 'DENY' }),
  'refused records of a namespace': list({ decision: 'DENY' }, team),
  'records of an agent': list({ agent: 'team/bot-1' }),
  'records of an agent without records': list({ agent: 'team/none' }),
  'records of an agent and a connector without records': list({ agent: 'team/bot-1', connector: 'chat' }),
  'records of an action without records': list({ actionType: 'chat.message.post' }),
  'records of an instance without records': list({ instance: 'team/pod' }),
  'records by a text that none has': list({ q: 'nowhere' }),
  'records of a namespace by a text that none has': list({ q: 'nowhere' }, team),
  'records of an hour of old': list({ from: ago(3 * DAY_MS), to: ago(3 * DAY_MS - 3_600_000) }),
  'the requests of an action': (q) => listTrafficOfAction(all(q), orgId, 'act_5000'),
  'a refused record': (q) => getTrafficRecord(all(q), orgId, 'rec_100'),
  'events of a rare type': search({ eventType: 'user.login' }),
  'events of a type without events': search({ eventType: 'kill_switch.activated' }),
  'events by a text that none has': search({ q: 'nowhere' }),
  'events of an hour of old': search({ from: ago(3 * DAY_MS), to: ago(3 * DAY_MS - 3_600_000) }),
} as const satisfies Readonly<Record<string, (q: Query) => Promise<unknown>>>

test.each(Object.entries(READINGS))('reading a page reads few rows and sorts fewer: %s', async (_, read) => {
  for (const plan of await plansOf(db, read)) {
    expect(scannedTables(plan).filter(isLog)).toEqual([])
    expect(touchedRows(plan)).toBeLessThanOrEqual(2.5 * SEARCHED)
    expect(sortedRows(plan)).toBeLessThanOrEqual(SEARCHED + 1)
  }
})

/**
 * Pages that show sums. The period of each page ends with the hour of the newest record, as the period of the
 * overview ends with a minute.
 */
const SUMS = {
  'the activity of an hour': (q) => countByTime(all(q), orgId, periodOf(3_600, 60)),
  'the activity of a day': (q) => countByTime(all(q), orgId, periodOf(86_400, 1_800)),
  'the activity of four days': (q) => countByTime(all(q), orgId, periodOf(4 * 86_400, 7_200)),
  'the activity of a namespace': (q) => countByTime(team(q), orgId, periodOf(86_400, 1_800)),
  'the denials of four days': (q) =>
    topDenials(all(q), orgId, { ...periodOf(4 * 86_400, 7_200), limit: 40, limitOfAgent: 4 }),
  'the busiest agents of four days': (q) =>
    busiestAgents(team(q), orgId, { ...periodOf(4 * 86_400, 7_200), limit: 10 }),
  'the counts of a scrape': (q) => countActions(q, orgId),
} as const satisfies Readonly<Record<string, (q: Query) => Promise<unknown>>>

function periodOf(seconds: number, bucketSeconds: number) {
  const endMs = (Math.floor(Date.now() / DAY_MS) + 1) * DAY_MS
  const from = new Date(endMs - seconds * 1_000).toISOString()
  return { from, to: new Date(endMs).toISOString(), bucketSeconds }
}

test.each(Object.entries(SUMS))('a page of sums reads roll-ups instead of records: %s', async (_, read) => {
  for (const plan of await plansOf(db, read)) {
    expect(recordsRead(plan)).toBeLessThanOrEqual(RECORDS_OF_A_MINUTE)
    expect(scannedTables(plan).filter(isLog)).toEqual([])
  }
})

/** A scrape reads the records of the first minute of each of its periods. */
const RECORDS_OF_A_MINUTE = 10

/** Returns the number of rows of the traffic log that the statement read. */
function recordsRead(plan: PlanNode): number {
  const own = isLog(String(plan['Relation Name'] ?? '')) ? touchedRows({ ...plan, Plans: [] }) : 0
  return own + (plan.Plans ?? []).reduce((sum, each) => sum + recordsRead(each), 0)
}

function isLog(table: string): boolean {
  return /^(traffic_(default|\d+)|audit_events)$/.test(table)
}
