import pg from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { bumpVersion, currentVersion } from '../../../controlplane/db/config-version.ts'
import { isAnswerLost } from '../../../controlplane/db/connection/unavailable.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { ensureOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { migrate } from '../../../controlplane/db/schema/migrate.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { findAgentByName } from '../../../controlplane/features/agents/rows.ts'
import { insertAgent, updateAgent } from '../../../controlplane/features/agents/store.ts'
import { systemActor } from '../../../controlplane/features/audit/actor.ts'
import { recordEvent } from '../../../controlplane/features/audit/events.ts'
import { upsertGateway } from '../../../controlplane/features/gateways/store.ts'
import { listPermissions } from '../../../controlplane/features/permissions/rows.ts'
import {
  replaceOwnedPermissions,
  savePermission,
} from '../../../controlplane/features/permissions/service.ts'
import { listTraffic } from '../../../controlplane/features/traffic/rows.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { waitFor } from '../../support/wait-for.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'

const log = pino({ level: 'silent' })
const actor = systemActor('test')
let server: TestPostgres
let database: TestDatabase
let db: Db
let orgId: string

beforeAll(async () => {
  server = await workerPostgres()
  database = await server.createDatabase()
  db = await openDb({ url: database.url, log })
  await migrate(db)
  orgId = (await ensureOrg(db)).id
})

afterAll(async () => {
  await db?.close()
  await server?.stop()
})

describe('the audit log', () => {
  test.each(["update audit_events set details = '{}'", 'delete from audit_events', 'truncate audit_events'])(
    'refuses "%s" from the role that owns it',
    async (statement) => {
      await recordEvent(db, { orgId, actor, type: 'user.login', details: {} })
      await expect(db.query(statement)).rejects.toThrow(/permission denied/)
    },
  )

  test('numbers events in the order in which they were appended', async () => {
    const first = await recordEvent(db, { orgId, actor, type: 'user.login', details: {} })
    const second = await recordEvent(db, { orgId, actor, type: 'user.logout', details: {} })
    expect(second).toBeGreaterThan(first)
  })

  test('is purged by its function only, which leaves no right behind', async () => {
    await recordEvent(db, { orgId, actor, type: 'user.login', details: {} })
    const before = await count('audit_events')
    const { rows } = await db.query<{ purged: number }>(
      "select purge_audit_events($1, now() + interval '1 s') as purged",
      [orgId],
    )
    expect(rows[0]?.purged).toBe(before)
    await expect(db.query('delete from audit_events')).rejects.toThrow(/permission denied/)
  })
})

describe('the database seam', () => {
  test('uses different backends for different transactions, whose locks exclude each other', async () => {
    const held = await db.tx(async (one) => {
      await one.query('select pg_advisory_xact_lock(42)', [])
      const mine = await one.query<{ pid: number }>('select pg_backend_pid() as pid', [])
      const other = await db.tx(async (two) => ({
        pid: (await two.query<{ pid: number }>('select pg_backend_pid() as pid', [])).rows[0]?.pid,
        got: (await two.query<{ got: boolean }>('select pg_try_advisory_xact_lock(42) as got', [])).rows[0]
          ?.got,
      }))
      return { mine: mine.rows[0]?.pid, other }
    })
    expect(held.other.pid).not.toBe(held.mine)
    expect(held.other.got).toBe(false)
  })

  test('rolls back everything when the work of a transaction rejects', async () => {
    const version = await currentVersion(db)
    await expect(
      db.tx(async (q) => {
        await bumpVersion(q)
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    expect(await currentVersion(db)).toBe(version)
  })

  test('asks for another attempt when a transaction is the victim of a deadlock', async () => {
    await db.query('create table two as select 1 as id union select 2')
    const lockBoth = (first: number, second: number, other: Promise<unknown>, own: () => void) =>
      db.tx(async (q) => {
        await q.query('select from two where id = $1 for update', [first])
        own()
        await other
        await q.query('select from two where id = $1 for update', [second])
      })
    const [one, other] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const ended = await Promise.allSettled([
      lockBoth(1, 2, other.promise, one.resolve),
      lockBoth(2, 1, one.promise, other.resolve),
    ])
    const errors = ended.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []))
    expect(errors).toMatchObject([
      { code: 'not_ready', message: expect.stringMatching(/nothing was changed. Send the request again/) },
    ])
    expect(isAnswerLost(errors[0])).toBe(false)
  })

  test('notifies with the new version, and again with nothing after the connection was lost', async () => {
    const heard: string[] = []
    await using _listening = await db.listen('chaperone', (payload) => heard.push(payload))
    const version = await bumpVersion(db)
    await waitFor(() => expect(heard).toEqual([String(version)]))
    await asAdmin("select pg_terminate_backend(pid) from pg_stat_activity where query like 'listen%'")
    await waitFor(() => expect(heard).toEqual([String(version), '']))
    const next = await bumpVersion(db)
    await waitFor(() => expect(heard).toEqual([String(version), '', String(next)]))
  })

  test('survives the loss of every pooled connection', async () => {
    await asAdmin(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'chaperone' and pid <> pg_backend_pid()",
    )
    await waitFor(async () => expect(await currentVersion(db)).toBeGreaterThan(0))
  })
})

describe('the organisation', () => {
  test('is one, however many start at once', async () => {
    const fresh = await server.createDatabase()
    const other = await openDb({ url: fresh.url, log })
    await migrate(other)
    const made = await Promise.all(Array.from({ length: 8 }, () => ensureOrg(other)))
    expect(new Set(made.map((org) => org.id)).size).toBe(1)
    expect(made.filter((org) => org.created)).toHaveLength(1)
    expect(made[0]?.plan).toBe('Enterprise')
    await other.close()
  })
})

describe('agents', () => {
  test('give up their name when revoked, and only then', async () => {
    const agent = await insertAgent(db, agentRow('namesake'))
    await expect(insertAgent(db, agentRow('namesake'))).rejects.toThrow(/agents_name/)
    await updateAgent(db, agent.id, { status: 'revoked', apiKeySha256: null })
    const next = await insertAgent(db, agentRow('namesake'))
    expect((await findAgentByName(db, 'namesake'))?.id).toBe(next.id)
  })
})

describe('permissions', () => {
  test('of one manifest are replaced as a whole; those that stay keep their ids', async () => {
    const gateway = await upsertGateway(db, {
      id: newId('gateway'),
      orgId,
      name: 'default/permissions',
      spec: GatewaySpec.parse({}),
      source: 'api',
      managedBy: null,
    })
    const row = (actionPattern: string, decision: 'allow' | 'deny' = 'allow') => ({
      orgId,
      gatewayId: gateway.id,
      agent: '*',
      connectorType: 'codehost',
      actionPattern,
      decision,
      reason: null,
      source: 'file' as const,
      managedBy: '10-x.yaml',
    })
    const replace = (rows: ReadonlyArray<ReturnType<typeof row>>) =>
      replaceOwnedPermissions(db, new Map([['Permission/default/a', rows]]))
    await savePermission(db, { ...row('codehost.*'), source: 'api', managedBy: null, owner: null })
    await replace([row('codehost.pr.*'), row('codehost.issue.*')])
    const before = await listPermissions(db, gateway.id)
    await replace([row('codehost.issue.*', 'deny')])
    const after = await listPermissions(db, gateway.id)
    expect(after.map((p) => [p.actionPattern, p.decision])).toEqual([
      ['codehost.*', 'allow'],
      ['codehost.issue.*', 'deny'],
    ])
    const idOf = (list: typeof after) => list.find((p) => p.actionPattern === 'codehost.issue.*')?.id
    expect(idOf(after)).toBe(idOf(before))
    await replace([])
    expect((await listPermissions(db, gateway.id)).map((p) => p.actionPattern)).toEqual(['codehost.*'])
  })
})

describe('traffic', () => {
  test('sent twice is stored once, in the partition of its day', async () => {
    const rows = [record(1), record(2)]
    await insertTraffic(db, orgId, rows)
    await insertTraffic(db, orgId, rows)
    const { records } = await listTraffic(createScopedQuery(db, 'all'), orgId, { filter: {}, limit: 10 })
    expect(records).toEqual(
      [...rows].reverse().map((row) => ({
        ...row,
        ...{
          refusals: null,
          why: null,
          candidates: null,
          actions: null,
          action_count: null,
          handle: null,
          effects: null,
          credential: null,
          action_details: null,
          function_tools: null,
          instance: null,
        },
      })),
    )
    expect(await count('traffic_default')).toBe(0)
  })

  test('from a wildly wrong clock is kept, without making a table for it', async () => {
    const odd = { ...record(3), time: '2001-01-01T00:00:00.000Z' }
    await insertTraffic(db, orgId, [odd])
    expect(await count('traffic_default')).toBe(1)
  })

  test('of one new day is stored by many writers at once', async () => {
    const tomorrow = new Date(Date.now() + 24 * 3_600_000).toISOString()
    const batches = Array.from({ length: 8 }, (_, n) => [{ ...record(100 + n), time: tomorrow }])
    await Promise.all(batches.map((batch) => insertTraffic(db, orgId, batch)))
    const from = new Date(Date.now() + 12 * 3_600_000).toISOString()
    const page = { filter: { from }, limit: 50 }
    expect((await listTraffic(createScopedQuery(db, 'all'), orgId, page)).records).toHaveLength(8)
    expect(await count('traffic_default')).toBe(1)
  })
})

test('old traffic goes by whole days, and out of the default partition', async () => {
  await db.query("select drop_traffic_before((now() at time zone 'utc')::date + 2)")
  expect(await count('traffic')).toBe(0)
})

async function count(table: string): Promise<number> {
  const { rows } = await db.query<{ n: number }>(`select count(*) as n from ${table}`)
  return rows[0]?.n ?? -1
}

async function asAdmin(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: database.adminUrl })
  await client.connect()
  await client.query(text)
  await client.end()
}

function agentRow(name: string) {
  return {
    id: newId('agent'),
    orgId,
    name,
    runtime: '',
    environment: 'development',
    status: 'active' as const,
    capabilities: [],
    metadata: {},
    apiKeyPrefix: null,
    apiKeySha256: null,
    gatewayId: null,
    source: 'api' as const,
    managedBy: null,
  }
}

function record(seq: number): TrafficRecord {
  return {
    id: `rec_${seq}`,
    process_id: 'proc_1',
    seq,
    time: new Date(Date.now() - 60_000 + seq).toISOString(),
    gateway: 'default/local',
    agent: 'bot',
    connector: 'codehost',
    action_type: 'codehost.issue.create',
    decision: 'ALLOW',
    would: null,
    note: null,
    reason: null,
    approval_id: null,
    act_id: null,
    method: 'POST',
    host: 'api.example.com',
    path: '/repos/o/r/issues',
    status: 201,
    error_type: null,
    latency_ms: 12.5,
    overhead_ms: 0.5,
    bytes_in: 100,
    bytes_out: 200,
    permission: null,
    policies: [],
    snapshot_version: 3,
    transport: 'connect',
  }
}
