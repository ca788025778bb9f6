import fc from 'fast-check'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type DumpedTable, type DumpPart, dump, emptyTable, loadRows } from '../../../controlplane/db/dump.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db, Query } from '../../../controlplane/db/query.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { countActions } from '../../../controlplane/features/actions/rows.ts'
import { dropOldTraffic } from '../../../controlplane/features/maintenance/store.ts'
import {
  busiestAgents,
  countByTime,
  topDenials,
} from '../../../controlplane/features/overview/activity-store.ts'
import { createTrafficRollup } from '../../../controlplane/features/traffic/rollups/rollup.ts'
import { rollUp } from '../../../controlplane/features/traffic/rollups/store.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { size } from '../../support/proof.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const log = pino({ level: 'silent' })
const DAY_MS = 86_400_000
/** Begin of yesterday (UTC). Its records are in a partition of their own. */
const YESTERDAY_MS = Math.floor(Date.now() / DAY_MS) * DAY_MS - DAY_MS
let server: TestPostgres
let database: TestDatabase
let db: Db
let orgId: string

beforeAll(async () => {
  server = await workerPostgres()
})
beforeEach(async () => {
  await db?.close()
  database = await server.createMigratedDatabase()
  db = await openDb({ url: database.url, log })
  orgId = (await db.tx((q) => ensureOrg(q))).id
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})

let ids = 0
function record(changes: Partial<TrafficRecord> = {}): TrafficRecord {
  const id = ++ids
  return {
    ...{ id: `rec_${id}`, process_id: 'proc_1', seq: id, time: at(0), gateway: 'red/main', agent: 'red/bot' },
    ...{
      connector: 'codehost',
      action_type: 'codehost.repo.get',
      decision: 'ALLOW',
      would: null,
      note: null,
    },
    ...{ reason: null, approval_id: null, act_id: null, method: 'GET', host: 'api.example', path: '/' },
    ...{ status: 200, error_type: null, latency_ms: 10, overhead_ms: 1, bytes_in: 0, bytes_out: 0 },
    ...{ permission: null, policies: [], snapshot_version: 1, transport: 'http', ...changes },
  }
}

/** Returns the time `ms` milliseconds after the begin of yesterday. */
function at(ms: number): string {
  return new Date(YESTERDAY_MS + ms).toISOString()
}

const SPANS = [
  { from: at(0), to: at(3_600_000), bucketSeconds: 60 },
  { from: at(300_000), to: at(6_600_000), bucketSeconds: 300 },
  { from: at(900_000), to: at(7_200_000), bucketSeconds: 900 },
  { from: at(0), to: at(7_200_000), bucketSeconds: 3_600 },
  { from: at(-DAY_MS), to: at(2 * DAY_MS), bucketSeconds: 86_400 },
  { from: at(600_000), to: at(1_210_000), bucketSeconds: 10 },
  { from: at(610_000), to: at(6_010_010), bucketSeconds: 30 },
] as const
const SCOPES: readonly Namespaces[] = ['all', new Set(['red']), new Set(['blue', 'none'])]

/** Reads all sums that the pages show of the spans. */
async function pages(of: Query = db) {
  const shown: unknown[] = []
  for (const scope of SCOPES) {
    const q = createScopedQuery(of, scope)
    for (const span of SPANS) {
      shown.push(
        await countByTime(q, orgId, span),
        await topDenials(q, orgId, { ...span, limit: 100, limitOfAgent: 100 }),
        await busiestAgents(q, orgId, { ...span, limit: 100 }),
      )
    }
  }
  return shown
}

/** Reads the same sums from records only, because the roll-ups then begin after all records. */
async function pagesOfRecords() {
  const { rows } = await db.query<{ begins: string }>(
    'select begins_at::text as begins from traffic_rollup_begin',
  )
  await db.query("update traffic_rollup_begin set begins_at = 'infinity'")
  const shown = await pages()
  await db.query('update traffic_rollup_begin set begins_at = $1', [rows[0]?.begins])
  return shown
}

const store = (records: readonly TrafficRecord[]) => db.tx((q) => insertTraffic(q, orgId, records))
const ALL = { increments: 10_000, records: 1_000_000 }
const roll = async (limits = ALL) => (await db.tx((q) => rollUp(q, limits)))?.increments ?? null

const RECORDS = fc.array(
  fc.record({
    time: fc
      .oneof(fc.integer({ min: 660_000, max: 665_000 }), fc.integer({ min: -600_000, max: 7_800_000 }))
      .map(at),
    agent: fc.constantFrom('red/bot', 'red/dev', 'blue/bot', 'local', null),
    gateway: fc.constantFrom('red/main', 'blue/main', 'local'),
    decision: fc.constantFrom('ALLOW', 'ALLOW', 'HOLD', 'DENY', 'DEFER' as never),
    would: fc.constantFrom(null, 'DENY' as const),
    action_type: fc.constantFrom('codehost.repo.get', null),
    host: fc.constantFrom('a.example', null, 'x'.repeat(4_000)),
    reason: fc.constantFrom('policy', null, 'y'.repeat(4_000)),
    approval_id: fc.constantFrom(null, null, 'apr_1'),
    latency_ms: fc.constantFrom(0, 0.2, 1, 12.5, 30_000),
    refusals: fc.constantFrom(null, { count: 40 } as never),
  }),
  { minLength: 8, maxLength: 16 },
)
/** Uploads. After each upload, an earlier upload may be repeated, and a number of increments is rolled up. */
const UPLOADS = fc.array(
  fc.record({
    records: RECORDS,
    again: fc.option(fc.nat()),
    limits: fc.constantFrom(
      { increments: 0, records: 1 },
      { increments: 3, records: 100 },
      { increments: 10, records: 2 },
      ALL,
      ALL,
    ),
  }),
  { minLength: 3, maxLength: 5 },
)

describe('pages', () => {
  test('show the sums of the records, whatever part of them is rolled up', async () => {
    await fc.assert(
      fc.asyncProperty(UPLOADS, async (uploads) => {
        await db.query(
          'truncate traffic, traffic_increments, traffic_rollups, traffic_rollup_agents, traffic_rollup_denials',
        )
        const sent: TrafficRecord[][] = []
        for (const { records, again, limits } of uploads) {
          const batch = records.map((changes) => record(changes as Partial<TrafficRecord>))
          sent.push(batch)
          await store(batch)
          if (again !== null) await store(sent[again % sent.length] ?? [])
          await roll(limits)
        }
        expect(await pages()).toEqual(await pagesOfRecords())
        const { rows } = await db.query<{ total: number }>(
          'select coalesce(sum(requests), 0)::bigint as total from traffic',
        )
        expect((await countActions(db, orgId)).total).toBe(rows[0]?.total)
      }),
      { numRuns: size(4, 200), endOnFailure: true },
    )
  })

  test('count the last hour and the last day to the millisecond', async () => {
    const now = Date.now()
    const ago = (ms: number) => record({ time: new Date(now - ms).toISOString(), decision: 'DENY' })
    await store([ago(0), ago(3_500_000), ago(3_660_000), ago(86_300_000), ago(86_460_000)])
    const expected = { total: 5, lastHour: 2, decisions24h: { allow: 0, deny: 4, requires_approval: 0 } }
    expect(await countActions(db, orgId)).toEqual(expected)
    await roll()
    expect(await countActions(db, orgId)).toEqual(expected)
  })

  test('show records that were stored before the roll-ups began', async () => {
    await db.query('alter table traffic disable trigger traffic_increments')
    await store([record({ time: at(60_000) }), record({ time: at(3_500_000), decision: 'DENY' })])
    await db.query('alter table traffic enable trigger traffic_increments')
    await db.query('update traffic_rollup_begin set begins_at = $1', [at(3_600_000)])
    await store([record({ time: at(120_000) }), record({ time: at(3_700_000), agent: 'blue/bot' })])
    await roll()
    expect(await pages()).toEqual(await pagesOfRecords())
    expect((await countActions(db, orgId)).total).toBe(4)
    const { rows } = await db.query(
      'select requests from traffic_rollups where step = 3600 and namespace is null',
    )
    expect(rows).toEqual([{ requests: 1 }])
  })
})

describe('the job', () => {
  test('of two replicas at once, with uploads meanwhile, counts each record once', async () => {
    const other = await openDb({ url: database.url, log })
    {
      await using _jobs = jobs([db, other])
      await Promise.all(
        Array.from({ length: 20 }, async (_, n) => {
          const batch = Array.from({ length: 10 }, (_, m) => record({ time: at(n * 60_000 + m) }))
          await store(batch)
          await store(batch)
        }),
      )
      await eventually('all increments are rolled up', async () => ((await increments()) === 0 ? true : null))
    }
    await other.close()
    expect(await pages()).toEqual(await pagesOfRecords())
    expect((await countActions(db, orgId)).total).toBe(200)
  })

  test('that ends within its transaction leaves all to the next one', async () => {
    await store([record(), record({ decision: 'DENY', reason: 'policy' })])
    const wanted = await pages()
    const killed = await openDb({ url: database.url, log })
    await expect(
      killed.tx(async (q) => {
        await rollUp(q, ALL)
        await q.query('select pg_terminate_backend(pg_backend_pid())')
      }),
    ).rejects.toThrow()
    await killed.close()
    expect(await increments()).toBe(2)
    expect(await pages()).toEqual(wanted)
    expect(await roll()).toBe(2)
    expect(await pages()).toEqual(wanted)
  })

  test('limits the records of a transaction, and adds a backlog by several transactions', async () => {
    const store200 = (agent: string) =>
      store(Array.from({ length: 200 }, (_, n) => record({ agent, time: at(n), latency_ms: n })))
    for (const agent of ['red/bot', 'red/dev', 'blue/bot', 'blue/dev']) await store200(agent)
    const wanted = await pages()
    const step = (records: number, limit = 10) => db.tx((q) => rollUp(q, { increments: limit, records }))
    expect(await step(1)).toEqual({ increments: 1, isLimited: true })
    expect(await step(201)).toEqual({ increments: 2, isLimited: true })
    expect(await pages()).toEqual(wanted)
    expect(await step(1_000, 1)).toEqual({ increments: 1, isLimited: true })
    expect(await step(1_000)).toEqual({ increments: 0, isLimited: false })
    expect(await pages()).toEqual(wanted)
  })

  test('adds increments with many records by several transactions, so that no statement exceeds its timeout', async () => {
    await db.query(
      `insert into traffic_increments
       select date_bin('1 minute', $1::timestamptz, 'epoch'), 'red', 'red/bot', 'ALLOW', false, null, null, null, 40000, 40000, $1,
         array[1, 2]::smallint[] from generate_series(1, 6)`,
      [at(0)],
    )
    const sizes: number[] = []
    const counting = {
      tx: <T>(work: (q: Query) => Promise<T>) =>
        db.tx(async (q) => {
          const before = await countIncrements(q)
          const result = await work(q)
          sizes.push(before - (await countIncrements(q)))
          return result
        }),
    }
    {
      await using _job = createTrafficRollup({ db: counting, log, everyMs: 5 })
      await eventually('all increments are rolled up', async () => ((await increments()) === 0 ? true : null))
    }
    expect(sizes.filter((size) => size > 0)).toEqual([2, 2, 2])
  })

  test('is skipped while another replica works', async () => {
    await store([record()])
    await db.tx(async (q) => {
      expect(await rollUp(q, ALL)).toEqual({ increments: 1, isLimited: false })
      expect(await roll()).toBeNull()
    })
    expect(await roll()).toBe(0)
  })
})

describe('retention', () => {
  const today = new Date(YESTERDAY_MS + DAY_MS).toISOString().slice(0, 10)

  test('removes the roll-ups of the days that it drops, and the total stays', async () => {
    await store([record(), record({ time: at(DAY_MS + 1_000) })])
    await roll()
    await store([record({ refusals: { count: 7 } as never }), record({ time: at(DAY_MS + 2_000) })])
    expect((await countActions(db, orgId)).total).toBe(10)
    expect(await db.tx((q) => dropOldTraffic(q, today))).toBe(2)
    expect(await pages()).toEqual(await pagesOfRecords())
    expect((await countActions(db, orgId)).total).toBe(10)
    await roll()
    expect(await pages()).toEqual(await pagesOfRecords())
    expect((await countActions(db, orgId)).total).toBe(10)
  })

  test('of a replica of the version before, which counts records itself, keeps the total', async () => {
    await store([record(), record(), record({ time: at(DAY_MS) })])
    await roll()
    await db.tx(async (q) => {
      await q.query('update maintenance set traffic_purged = traffic_purged + 2')
      await q.query('select drop_traffic_before($1)', [today])
    })
    expect((await countActions(db, orgId)).total).toBe(3)
    expect(await pages()).toEqual(await pagesOfRecords())
  })

  test.each([
    ['the table', 'traffic'],
    ['the second of two old days', `traffic_${at(0).slice(0, 10).replaceAll('-', '')}`],
  ])('never blocks uploads for long while a reader holds %s', async (_, table) => {
    await store([record({ time: at(-DAY_MS) }), record(), record({ time: at(DAY_MS) })])
    const reader = await openDb({ url: database.url, log })
    let dropped: Promise<number> | undefined
    await reader.tx(async (q) => {
      await q.query(`select count(*) from ${table}`)
      dropped = db.tx((own) => dropOldTraffic(own, today))
      await eventually('the cleanup awaits the lock', async () => {
        const { rows } = await reader.query(
          'select from pg_locks where not granted and relation = $1::regclass',
          [table],
        )
        return rows.length > 0 ? true : null
      })
      // The upload waits until the attempts of the cleanup end, while the reader still holds its lock.
      const writer = await openDb({ url: database.url, log })
      await writer.tx((own) => insertTraffic(own, orgId, [record({ time: at(DAY_MS + 5) })]))
      await writer.close()
    })
    expect(await dropped).toBe(2)
    await reader.close()
  })
})

describe('a backup', () => {
  test('of records is loaded with its roll-ups, also when an earlier version dumped them', async () => {
    await store([record(), record({ decision: 'DENY', reason: 'policy' })])
    await roll()
    await store([record()])
    const wanted = await pages()
    const parts: DumpPart[] = []
    await dump(db, async (part) => void parts.push(part))
    const { rows: extra } = await db.query<{ text: string }>(
      'select json_agg(t)::text as text from traffic_rollups t where step = 3600',
    )
    const names = parts.flatMap((part) => (part.kind === 'table' ? [part.table.name] : []))
    expect(names.filter((name) => name.startsWith('traffic'))).toEqual(['traffic'])

    const target = await openDb({ url: (await server.createMigratedDatabase()).url, log })
    await target.tx(async (q) => {
      let table: DumpedTable | undefined
      for (const part of parts) {
        if (part.kind === 'table') {
          table = part.table
          await emptyTable(q, table.name)
        }
        if (part.kind === 'rows' && table !== undefined) await loadRows(q, table, part.text)
      }
      const earlier = { name: 'traffic_rollups', columns: ['step', 'time', 'records'] }
      await emptyTable(q, earlier.name)
      await loadRows(q, earlier, extra[0]?.text ?? '[]')
    })
    expect(await pages(target)).toEqual(wanted)
    await target.close()
  })
})

const increments = () => countIncrements(db)

async function countIncrements(q: Query): Promise<number> {
  const { rows } = await q.query<{ count: number }>('select count(*) as count from traffic_increments')
  return rows[0]?.count ?? -1
}

function jobs(dbs: readonly Db[]): AsyncDisposable {
  const running = dbs.map((each) => createTrafficRollup({ db: each, log, everyMs: 5 }))
  return {
    async [Symbol.asyncDispose]() {
      for (const job of running) await job[Symbol.asyncDispose]()
    },
  }
}
