import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openDb } from '../../../controlplane/db/open.ts'
import { getOrg } from '../../../controlplane/db/orgs.ts'
import type { Db } from '../../../controlplane/db/query.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import { decideUnowned } from '../../../core/decision/egress.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, register, startControlPlane, type TestControlPlane } from './start.ts'

let server: TestPostgres
let plane: TestControlPlane
let db: Db
let user: Call
const start = Date.now() - 3_600_000
let seq = 0

beforeAll(async () => {
  server = await workerPostgres()
  const database = await server.createMigratedDatabase()
  plane = await startControlPlane(database)
  db = await openDb({ url: database.url, log: pino({ level: 'silent' }) })
  await register(plane.call, 'owner@example.com')
  user = await plane.signIn('owner@example.com')
})

afterAll(async () => {
  await db?.close()
  await plane?.close()
  await server?.stop()
})

type Shown = { readonly host: string; readonly [field: string]: unknown }

async function hosts(call: Call = user, query = ''): Promise<readonly Shown[]> {
  const { body } = await call('GET', `/api/dashboard/unowned-hosts${query}`)
  return at<Shown[]>(body, 'hosts')
}

async function store(...records: readonly Partial<TrafficRecord>[]): Promise<void> {
  const { id } = await getOrg(db)
  await insertTraffic(
    db,
    id,
    records.map((over) => record(seq++, over)),
  )
}

function refusal(host: string, port: number): Pick<TrafficRecord, 'host' | 'why'> {
  const egress = { unmatchedHosts: 'deny' as const, allowedHosts: [], tcp: [] }
  const { reason } = decideUnowned({ gateway: { egress, level: 'full_enforce' } }, host, port)
  return { host, why: { reason, risk_score: 0 } as unknown as TrafficRecord['why'] }
}

describe('hosts that agents asked for', () => {
  test('are listed once for each host, newest first, with agents, requests, port and the manifest to add', async () => {
    expect(await hosts()).toEqual([])
    const refusals = {
      ...{ count: 40, first: '', last: '', distinct_targets: 1, more_targets: false, targets: [] },
      ...{ reasons: {}, actions: {} },
    }
    await store(
      refusal('telemetry.example', 4319),
      { ...refusal('telemetry.example', 4319), agent: 'other' },
      { ...refusal('telemetry.example', 4319), refusals, note: '40 refusals' },
      { host: '203.0.113.7:22', note: 'unsupported_protocol' },
      refusal('chatgpt.com', 443),
      { ...refusal('allowed.example', 443), decision: 'ALLOW' },
      { ...refusal('denied.example', 443), reason: 'permission' },
    )
    const listed = await hosts()
    expect(listed).toMatchObject([
      { host: 'chatgpt.com', port: 443, agents: ['dev'], known: expect.stringContaining('Codex') },
      {
        host: '203.0.113.7',
        port: 22,
        known: null,
        manifests: { connector: null, egress: expect.stringContaining('tcp:') },
      },
      { host: 'telemetry.example', port: 4319, agents: ['dev', 'other'], requests: 42, known: null },
    ])
    expect(listed[2]).toMatchObject({
      gateway: 'default/local',
      first: new Date(start).toISOString(),
      manifests: {
        connector: expect.stringContaining('telemetry.example'),
        egress: expect.stringContaining('telemetry.example:4319'),
      },
    })
    expect(await hosts(user, '?limit=1')).toHaveLength(1)
  })

  test('leave the list once a connector owns them, or the egress list names them', async () => {
    await store(refusal('soon.example', 443), refusal('api.github.com', 443), refusal('api.github.com', 8443))
    expect((await hosts()).map(({ host }) => host)).toContain('soon.example')
    const connector = { type: 'generic', token: 't', domains: ['*.example'], accessRule: 'read_only' }
    const added = await user('POST', '/api/dashboard/gateway', {
      gateway: { name: 'default/local' },
      connectors: [connector],
    })
    expect(added.status).toBe(200)
    // The other port of telemetry.example is not the connector's.
    expect((await hosts()).map(({ host }) => host)).toEqual([
      'api.github.com',
      'chatgpt.com',
      '203.0.113.7',
      'telemetry.example',
    ])
  })

  test('are those of the namespaces in which the user may read records', async () => {
    await store({ ...refusal('secret.other', 443), gateway: 'platform/shared', agent: 'team/bot' })
    await store({ ...refusal('hidden.other', 443), gateway: 'platform/shared', agent: 'rival/bot' })
    await register(plane.call, 'guest@example.com', { invite_token: await invited('guest@example.com') })
    await db.query('update users set namespaces = $2 where email = $1', ['guest@example.com', ['team']])
    const guest = await plane.signIn('guest@example.com')
    expect((await hosts(guest)).map(({ host }) => host)).toEqual(['secret.other'])
    expect(JSON.stringify(await hosts(guest))).not.toContain('rival')
  })

  test.each(['limit=0', 'limit=501', 'agent=x'])('refuse %s', async (query) => {
    expect((await user('GET', `/api/dashboard/unowned-hosts?${query}`)).status).toBe(400)
  })
})

async function invited(email: string): Promise<string> {
  const { body } = await user('POST', '/api/dashboard/users', { action: 'invite', email, role: 'viewer' })
  return at(body, 'invite_token')
}

function record(n: number, over: Partial<TrafficRecord>): TrafficRecord {
  return {
    id: `rec_${n}`,
    process_id: 'proc_1',
    seq: n,
    time: new Date(start + n * 1_000).toISOString(),
    gateway: 'default/local',
    agent: 'dev',
    connector: null,
    action_type: null,
    decision: 'DENY',
    would: null,
    note: null,
    reason: 'unknown_host',
    approval_id: null,
    act_id: null,
    method: 'CONNECT',
    host: 'api.example.com',
    path: null,
    status: 403,
    error_type: null,
    latency_ms: 1,
    overhead_ms: 1,
    bytes_in: 1,
    bytes_out: 1,
    permission: null,
    policies: [],
    snapshot_version: 1,
    transport: 'connect',
    ...over,
  }
}
