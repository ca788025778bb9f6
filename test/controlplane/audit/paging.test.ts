import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { pino } from 'pino'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { createAuditExport } from '../../../controlplane/features/audit/export/service.ts'
import { listAuditAfter } from '../../../controlplane/features/audit/export/store.ts'
import { listAuditEvents } from '../../../controlplane/features/audit/reading-store.ts'
import { createAuditRoutes } from '../../../controlplane/features/audit/routes.ts'
import { searchAudit } from '../../../controlplane/features/audit/search-store.ts'
import { createHttpServer } from '../../../controlplane/http/server.ts'
import { sha256 } from '../../../runtime/sha256.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const EVENTS = 30_000
const PAGE = 1_000

let server: TestPostgres
let db: Db
let orgId: string
/** What is asked through `watched`, with its values. */
let asked: { readonly text: string; readonly values: readonly unknown[] }[] = []
let watched: Db

beforeAll(async () => {
  server = await workerPostgres()
  db = await openDb({ url: (await server.createMigratedDatabase()).url, log: pino({ level: 'silent' }) })
  await migrate(db)
  orgId = (await db.tx((q) => ensureOrg(q))).id
  await db.query(
    `insert into audit_events (event_type, org_id, agent_id, details)
     select 'action.requested', $1, 'agent_' || n % 2, jsonb_build_object('text', repeat('x', 1000))
     from generate_series(1, $2) as n`,
    [orgId, EVENTS],
  )
  await eventually('the log is as autovacuum leaves it', async () => {
    await db.query('vacuum analyze audit_events')
    const { rows } = await db.query<{ done: boolean }>(
      "select relallvisible = relpages as done from pg_class where relname = 'audit_events'",
    )
    return rows[0]?.done === true ? true : null
  })
  watched = {
    ...db,
    query(text, values = []) {
      asked.push({ text, values })
      return db.query(text, values)
    },
  }
})
beforeEach(() => {
  asked = []
})
afterAll(async () => {
  await db?.close()
  await server?.stop()
})

type Plan = {
  readonly 'Node Type': string
  readonly 'Relation Name'?: string
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly Plan[]
}

/** Every step that PostgreSQL takes for what was asked last. */
async function steps(): Promise<readonly Plan[]> {
  const last = asked.at(-1)
  const { rows } = await db.query<{ 'QUERY PLAN': readonly [{ readonly Plan: Plan }] }>(
    `explain (analyze, format json) ${last?.text}`,
    last?.values,
  )
  const all = (plan: Plan): Plan[] => [plan, ...(plan.Plans ?? []).flatMap(all)]
  return rows.flatMap((row) => all(row['QUERY PLAN'][0].Plan))
}

/** Rows of the log that are read themselves, not only their place in an index. */
function rowsRead(plan: readonly Plan[]): number {
  return plan
    .filter((step) => step['Relation Name'] === 'audit_events' && step['Node Type'] !== 'Index Only Scan')
    .map((step) => (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'])
    .reduce((sum, rows) => sum + rows, 0)
}

describe('a page of the audit log', () => {
  test.each([
    ['everybody', null, 0],
    ['everybody', null, 25_000],
    ["an agent's own", 'agent_1', 0],
    ["an agent's own", 'agent_1', 12_000],
  ])(
    'of %s (%j) from offset %i reads the rows of that page, by the index, and sorts nothing',
    async (_who, agentId, offset) => {
      const found = await listAuditEvents(
        watched,
        agentId === null ? { orgId, of: 'all' } : { orgId, of: 'agent', key: agentId },
        { limit: 100, offset },
      )
      expect(found).toHaveLength(100)
      const plan = await steps()
      const kinds = plan.map((step) => step['Node Type'])
      expect(kinds).not.toContain('Sort')
      expect(kinds).not.toContain('Seq Scan')
      expect(rowsRead(plan)).toBeGreaterThan(0)
      expect(rowsRead(plan)).toBeLessThanOrEqual(101)
    },
  )

  test.each([
    ['the first', 0],
    ['one in the middle', 15_000],
    ['the last', EVENTS - PAGE],
  ])('of the export, %s, begins behind the last event of the one before', async (_which, after) => {
    const found = await listAuditAfter(createScopedQuery(watched, 'all'), orgId, {
      filter: {},
      after,
      limit: PAGE,
    })
    expect([found.length, found[0]?.id]).toEqual([PAGE, after + 1])
    const plan = await steps()
    expect(plan.map((step) => step['Node Type'])).not.toContain('Sort')
    expect(rowsRead(plan)).toBeLessThanOrEqual(PAGE + 1)
  })

  test('of the dashboard begins before the last event of the one before', async () => {
    const { events: found } = await searchAudit(createScopedQuery(watched, 'all'), orgId, {
      filter: {},
      before: 10_000,
      limit: 100,
    })
    expect(found.map(({ id }) => id)).toEqual(Array.from({ length: 100 }, (_, n) => 9_999 - n))
    expect(rowsRead(await steps())).toBeLessThanOrEqual(101)
  })
})

describe('the export', () => {
  test('is read page by page, as the client reads the response', async () => {
    const csv = createAuditExport({
      read: (namespaces) => createScopedQuery(watched, namespaces),
      orgId,
    }).csv('all', {})
    for (let page = 1; page <= 3; page++) {
      const { value } = await csv.next()
      expect(String(value).split('\r\n').length).toBeGreaterThan(PAGE)
      expect(asked).toHaveLength(page)
    }
    await csv.return(undefined)
    expect(asked).toHaveLength(3)
  })

  test('waits for a client that does not read, and ends with one that leaves', async () => {
    const app = createHttpServer({
      ...{
        routes: createAuditRoutes({
          auditExport: createAuditExport({
            read: (namespaces) => createScopedQuery(watched, namespaces),
            orgId,
          }),
        }),
        tls: null,
      },
      auth: {
        identify: NOBODY,
        adminTokenHash: sha256('admin'),
        isTokenRestricted: async () => false,
        ...NO_SECRETS,
      },
      ...{ log: pino({ level: 'silent' }), version: '1.2.3', listenHost: '127.0.0.1', trustedProxies: [] },
    })
    const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }))
    const socket = await ask(Number(port))
    try {
      const [head] = (await once(socket, 'data')) as [Buffer]
      socket.pause()
      expect(head.toString()).toMatch(/^HTTP\/1\.1 200 .*transfer-encoding: chunked/is)
      const held = await settled()
      expect(held).toBeLessThan(EVENTS / PAGE)
      socket.destroy()
      await eventually('the answer is given up', async () => ((await connections(app)) === 0 ? true : null))
      expect(asked.length).toBeLessThan(EVENTS / PAGE)
    } finally {
      socket.destroy()
      await app.close()
    }
  })
})

const NO_SECRETS = { operatorTokenHash: null, maintenanceSecretHash: null, publicUrl: null }
const NOBODY = {
  session: async () => undefined,
  approverKey: async () => undefined,
  agentKey: async () => undefined,
  ownProcesses: async () => undefined,
  gatewayToken: async () => undefined,
}

async function ask(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1')
  await once(socket, 'connect')
  socket.write(
    'GET /api/dashboard/audit-export HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer admin\r\n\r\n',
  )
  return socket
}

/** How many pages were asked for once no more are. */
async function settled(): Promise<number> {
  let last = -1
  let since = performance.now()
  return eventually('no more pages are read', () => {
    if (asked.length !== last) {
      last = asked.length
      since = performance.now()
    }
    return performance.now() - since > 500 ? last : null
  })
}

function connections(app: ReturnType<typeof createHttpServer>): Promise<number> {
  return new Promise((resolve, reject) =>
    app.server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
  )
}
