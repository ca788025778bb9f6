import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { searchAudit } from '../../../controlplane/features/audit/search-store.ts'
import { listTraffic, type TrafficList } from '../../../controlplane/features/traffic/rows.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

let server: TestPostgres
let db: Db
let orgId: string

/** 3,000 records of three namespaces, of which each 500th has the path that tests search. */
beforeAll(async () => {
  server = await workerPostgres()
  db = await openDb({ url: (await server.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  orgId = (await db.tx((q) => ensureOrg(q))).id
  await db.query(
    `insert into traffic (id, time, seq, process_id, org_id, gateway, agent, decision, method, path, latency_ms, overhead_ms,
       bytes_in, bytes_out, transport)
     select 'rec_' || n, now() - n * interval '1 s', n, 'p', $1, 'a/main', (array['a', 'b', 'c'])[1 + n % 3] || '/bot', 'ALLOW',
       'GET', case when n % 500 = 0 then '/Needle' else '/hay' end, 1, 1, 0, 0, 'forward'
     from generate_series(1, 3000) n`,
    [orgId],
  )
  await db.query(
    `insert into audit_events (event_type, org_id, details)
     select 'action.denied', $1, jsonb_build_object('path', case when n % 500 = 0 then 'Needle' else 'hay' end)
     from generate_series(1, 3000) n`,
    [orgId],
  )
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})

test.each<[string, Namespaces, number[]]>([
  ['all namespaces', 'all', [500, 1_000, 1_500, 2_000, 2_500, 3_000]],
  ['two namespaces', new Set(['a', 'b']), [1_000, 1_500, 2_500, 3_000]],
  ['a namespace without records', new Set(['d']), []],
])(
  'a search in the records of %s finds each match once, over as many pages as it takes',
  async (_, namespaces, wanted) => {
    const q = createScopedQuery(db, namespaces)
    const found: string[] = []
    const sizes: number[] = []
    let cursor: TrafficList['next'] = null
    do {
      const page: TrafficList = await listTraffic(q, orgId, {
        ...{ filter: { q: 'needle' }, limit: 2, maxSearched: 300 },
        ...(cursor === null ? {} : { cursor }),
      })
      found.push(...page.records.map(({ id }) => id))
      sizes.push(page.records.length)
      cursor = page.next
    } while (cursor !== null)
    expect(found).toEqual(wanted.map((n) => `rec_${n}`))
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2)
  },
)

test('a search in the audit log finds each match once, over as many pages as it takes', async () => {
  const q = createScopedQuery(db, 'all')
  const found: number[] = []
  let before: number | null = null
  do {
    const page: Awaited<ReturnType<typeof searchAudit>> = await searchAudit(q, orgId, {
      ...{ filter: { q: 'needle' }, before, limit: 2, maxSearched: 300 },
    })
    found.push(...page.events.map(({ id }) => id))
    before = page.next
  } while (before !== null)
  expect(found).toHaveLength(6)
  expect(found).toEqual([...new Set(found)].toSorted((a, b) => b - a))
})

test('a search for an agent of another namespace finds nothing, without a statement', async () => {
  const refusing = { query: () => Promise.reject(new Error('no statement is expected')) }
  const q = createScopedQuery(refusing, new Set(['a']))
  const page = await listTraffic(q, orgId, { filter: { agent: 'b/bot', q: 'needle' }, limit: 2 })
  expect(page).toEqual({ records: [], next: null })
})
