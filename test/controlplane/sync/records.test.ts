import { randomBytes, randomUUID } from 'node:crypto'
import { pino } from 'pino'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import { issueAgentKey } from '../../../controlplane/crypto/tokens.ts'
import { createScopedQuery } from '../../../controlplane/db/scoped-query.ts'
import { countActions } from '../../../controlplane/features/actions/rows.ts'
import { deleteOldLostRecords, dropOldTraffic } from '../../../controlplane/features/maintenance/store.ts'
import {
  busiestAgents,
  countByTime,
  topDenials,
} from '../../../controlplane/features/overview/activity-store.ts'
import { createRecords } from '../../../controlplane/features/traffic/ingest.ts'
import { insertTraffic } from '../../../controlplane/features/traffic/store.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { auditOf, type Enrolled, holdBody, person, type Replica, startWorld, type World } from './harness.ts'

let world: World
let replica: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

let seq = 0
function record(changes: Partial<TrafficRecord> = {}): TrafficRecord {
  return {
    ...{ id: newId('record'), process_id: 'proc_1', seq: seq++, time: new Date().toISOString() },
    ...{
      gateway: 'somebody/else',
      agent: 'builder',
      connector: 'codehost',
      action_type: 'codehost.pr.merge',
    },
    ...{ decision: 'ALLOW', would: null, note: null, reason: null, approval_id: null, act_id: null },
    ...{
      method: 'PUT',
      host: 'api.github.com',
      path: '/repos/a/b/pulls/1/merge',
      status: 200,
      error_type: null,
    },
    ...{ latency_ms: 12.5, overhead_ms: 0.4, bytes_in: 10, bytes_out: 20, permission: null, policies: [] },
    ...{ snapshot_version: 3, transport: 'connect-h1' },
    ...changes,
  }
}
const upload = (records: TrafficRecord[], lost: object[] = []) =>
  replica.gateway(gateway, 'POST', '/api/gateway/records', { records, lost })
const stored = async (id: string) =>
  (await replica.db.query<{ gateway: string }>('select gateway from traffic where id = $1', [id])).rows

test('a batch that is sent again, even twice at once, is acknowledged again and stored and audited once', async () => {
  const denied = record({
    decision: 'DENY',
    reason: 'permission',
    status: 403,
    act_id: newId('actionRequest'),
  })
  const batch = [record(), denied]
  const replies = await Promise.all([upload(batch), upload(batch), upload(batch)])
  for (const reply of [...replies, await upload(batch)]) {
    expect(reply.body).toEqual({ accepted: batch.map(({ id }) => id) })
  }
  for (const { id } of batch) expect(await stored(id)).toEqual([{ gateway: 'default/local' }])
  const events = await auditOf(replica.db, denied.act_id ?? '')
  expect(events.map(({ type }) => type)).toEqual(['action.requested', 'action.denied'])
  expect(events[1]?.details).toMatchObject({
    decision: 'deny',
    reason: 'permission',
    action_type: 'codehost.pr.merge',
  })
})

test('a request that an approver released ends its audit chain, also when a retry joined the hold', async () => {
  const body = holdBody()
  const { approval } = (await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)).body as {
    approval: { id: string }
  }
  await replica.user(person(), 'POST', '/api/dashboard/proxy-approvals', { id: approval.id, approved: true })
  await upload([record({ approval_id: approval.id, act_id: newId('actionRequest'), note: 'approved' })])
  expect((await auditOf(replica.db, body.act_id)).map(({ type }) => type)).toEqual([
    ...['action.requested', 'action.pending_approval', 'approval.responded', 'action.executed'],
  ])
})

test('an approved request that the upstream never answered is recorded as failed', async () => {
  const body = holdBody({ binding: 'b'.repeat(64) })
  const { approval } = (await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)).body as {
    approval: { id: string }
  }
  const failed = record({ approval_id: approval.id, act_id: body.act_id, status: 504, error_type: 'timeout' })
  await upload([failed])
  expect((await auditOf(replica.db, body.act_id)).at(-1)?.type).toBe('action.execution_failed')
})

test('no gateway writes into the evidence of another agent, neither with its action nor with its approval', async () => {
  for (const name of ['victim', 'mallory']) {
    expect((await replica.command(gateway, 'agents.register', { name })).status).toBe(200)
  }
  const body = holdBody({ agent: 'victim', binding: 'c'.repeat(64) })
  const held = await replica.gateway(gateway, 'POST', '/api/gateway/holds', body)
  const { approval } = held.body as { approval: { id: string } }
  const chain = async () => (await auditOf(replica.db, body.act_id)).map(({ type }) => type)
  expect(await chain()).toEqual(['action.requested', 'action.pending_approval'])

  const stolen = holdBody({ agent: 'mallory', binding: 'd'.repeat(64), act_id: body.act_id })
  expect((await replica.gateway(gateway, 'POST', '/api/gateway/holds', stolen)).status).toBe(403)
  const records = createRecords({ db: replica.db, orgId: replica.orgId, log: pino({ level: 'silent' }) })
  const sidecar = {
    ...{ gatewayId: 'gw_1', name: 'default/local', processId: 'proc_pod' },
    sidecar: { agent: { name: 'mallory' }, podUid: 'pod_1' },
  }
  const own = newId('actionRequest')
  const forged = [
    record({ agent: 'mallory', act_id: body.act_id, decision: 'DENY', reason: 'policy' }),
    record({ agent: null, act_id: body.act_id, decision: 'DENY', reason: 'policy' }),
    record({ agent: 'mallory', act_id: body.act_id, approval_id: approval.id }),
    record({ agent: 'mallory', act_id: own, approval_id: approval.id, decision: 'DENY', reason: 'policy' }),
  ]
  expect(await records.ingest(sidecar, { records: forged, lost: [] })).toHaveLength(4)
  expect(await chain()).toEqual(['action.requested', 'action.pending_approval'])
  expect((await replica.db.query('select 1 from traffic where act_id = $1', [body.act_id])).rowCount).toBe(0)
  // The audit events of its own action are recorded.
  expect((await auditOf(replica.db, own)).map(({ type }) => type)).toEqual([
    'action.requested',
    'action.denied',
  ])
  const ofVictim = record({ agent: 'victim', act_id: body.act_id, approval_id: approval.id })
  await records.ingest(sidecar, { records: [ofVictim], lost: [] })
  expect((await chain()).at(-1)).toBe('action.executed')
})

test('an ordinary allowed request is traffic and no audit event', async () => {
  const before = await replica.db.query('select 1 from audit_events')
  await upload([record(), record()])
  expect((await replica.db.query('select 1 from audit_events')).rowCount).toBe(before.rowCount)
})

test('sequence numbers that are known to be lost stay visible', async () => {
  await upload([], [{ process_id: 'proc_1', from: 40, to: 44 }])
  await upload([], [{ process_id: 'proc_1', from: 40, to: 44 }])
  const { rows } = await replica.db.query('select process_id, from_seq, to_seq, reason from lost_records')
  expect(rows).toEqual([{ process_id: 'proc_1', from_seq: 40, to_seq: 44, reason: 'unwritten' }])
})

test('lost ranges are bounded and count as records, and they leave with the traffic log', async () => {
  const liar = await replica.enrol('default/liar')
  const ranges = (count: number) =>
    Array.from({ length: count }, (_, n) => ({ process_id: 'proc_liar', from: n * 2, to: n * 2 }))
  const send = (lost: object[]) =>
    replica.gateway(liar, 'POST', '/api/gateway/records', { records: [], lost })
  const ownOf = async () =>
    (await replica.db.query("select 1 from lost_records where process_id = 'proc_liar'")).rowCount
  expect((await send(ranges(1_001))).status).toBe(400)
  expect(await ownOf()).toBe(0)
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) statuses.push((await send(ranges(1_000))).status)
  expect(statuses).toContain(429)
  expect(await ownOf()).toBe(1_000)
  await replica.db.query(
    "update lost_records set reported_at = now() - interval '8 days' where process_id = 'proc_liar'",
  )
  const removed = await replica.db.tx((q) => deleteOldLostRecords(7)(q, 600))
  expect([removed, await ownOf()]).toEqual([600, 400])
})

test.each([
  ['the end before the start', { from: 5 }],
  ['a negative number', { from: -1 }],
  ['a number beyond what is exact', { to: 2 ** 53 }],
  ['a fraction', { from: 0.5 }],
  ['a text', { from: '0', to: '4' }],
  ['a name that is too long', { process_id: 'p'.repeat(129) }],
  ['NUL in a name', { process_id: 'p\0' }],
  ['a reason that is too long', { reason: 'b'.repeat(65) }],
])('a lost range with %s is refused', async (_what, changes) => {
  const reply = await upload([], [{ process_id: 'proc_bad', from: 0, to: 4, ...changes }])
  expect(reply.status).toBe(400)
})

test('explain names connector, action and verdict, and changes with a kill switch', async () => {
  const ask = async () => {
    const query = new URLSearchParams({
      method: 'PUT',
      url: 'https://api.github.com/repos/a/b/pulls/1/merge',
      agent: 'x',
    })
    const reply = await replica.user(person({ role: 'viewer' }), 'GET', `/api/dashboard/explain?${query}`)
    expect(reply.status, JSON.stringify(reply.body)).toBe(200)
    return reply.body as {
      text: string
      connector: string | null
      decision: { verdict: string; reason: string }
    }
  }
  expect(await ask()).toMatchObject({ connector: null, decision: { verdict: 'deny' } })
  await replica.command(gateway, 'connectors.add', { type: 'codehost', token: 't' })
  const set = { gateway_name: 'local', connector_type: 'codehost', action_pattern: 'codehost.pr.merge' }
  await replica.command(gateway, 'permissions.set', { ...set, decision: 'allow' })
  await waitFor(async () => (await ask()).decision.verdict === 'allow')
  expect((await ask()).text).toMatch(/codehost\.pr\.merge[\s\S]*ALLOW/)
  const admin = person({ role: 'admin' })
  await replica.user(admin, 'POST', '/api/dashboard/kill-switch', { active: true, reason: 'fire' })
  expect((await ask()).decision).toMatchObject({ verdict: 'deny', reason: 'Kill switch active: fire' })
  await replica.user(admin, 'POST', '/api/dashboard/kill-switch', { active: false })
  expect((await ask()).decision.verdict).toBe('allow')
})

test('an agent registers with its gateway once and keeps its name and id', async () => {
  const first = await replica.command(gateway, 'agents.register', {
    name: 'builder',
    api_key: issueAgentKey('development').key,
  })
  expect(first).toMatchObject({
    status: 200,
    body: { ok: true, agent: { name: 'builder', status: 'active' } },
  })
  const again = await replica.command(gateway, 'agents.register', { name: 'builder' })
  expect(again.body).toEqual(first.body)
  expect(
    (await replica.command(gateway, 'agents.register', { name: 'builder', api_key: 'wrong' })).status,
  ).toBe(403)
  const other = await replica.enrol('default/other')
  expect((await replica.command(other, 'agents.register', { name: 'builder' })).status).toBe(409)
  expect((await replica.command(gateway, 'agents.deregister', { name: 'builder' })).status).toBe(200)
  expect((await replica.command(gateway, 'agents.deregister', { name: 'nobody' })).status).toBe(404)
})

test.each([
  ...[
    'k',
    '0'.repeat(200),
    'svc_test_',
    'svc_test_abc',
    `svc_test_${'a'.repeat(42)}`,
    `svc_user_${'a'.repeat(43)}`,
  ],
  ...[`Svc_test_${'a'.repeat(43)}`, `svc_test_${'a'.repeat(42)} `, `svc_live_${'a'.repeat(42)}é`],
  ...[`x svc_test_${'a'.repeat(43)}`, `svc_test_${'a'.repeat(43)}\n`],
])('makes no agent with the key %j, which no key of ours has the form of', async (api_key) => {
  const given = { name: `keyed-${randomUUID()}`, api_key }
  const { status, body } = await replica.command(gateway, 'agents.register', given)
  expect([status, body['details']]).toEqual([400, expect.stringContaining('api_key')])
  const { rows } = await replica.db.query('select id from agents where name = $1', [given.name])
  expect(rows).toEqual([])
})

test.each(['svc_test_', 'svc_live_'])('makes an agent with a key of the form %s…', async (kind) => {
  const given = { name: `keyed-${randomUUID()}`, api_key: `${kind}${randomBytes(32).toString('hex')}` }
  expect((await replica.command(gateway, 'agents.register', given)).status).toBe(200)
  expect((await replica.command(gateway, 'agents.register', given)).status).toBe(200)
})

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  const { eventually } = await import('../../support/eventually.ts')
  await eventually('the condition', async () => ((await condition()) ? true : null))
}

const REFUSALS = {
  ...{ count: 1_240, first: new Date().toISOString(), last: new Date(Date.now() + 5_000).toISOString() },
  ...{ distinct_targets: 87, more_targets: false, targets: ['acme/site', 'acme/«tools»'] },
  reasons: { permission: 1_200, rate_limit: 40 },
}

test('a row that counts refusals is one record and one audit event, which says what it counts', async () => {
  const note = '1,240 refusals from … to …, 87 targets'
  const act = newId('actionRequest')
  const row = record({
    ...{ decision: 'DENY', reason: null, action_type: null, status: 403, act_id: act, method: '*' },
    ...{ note, refusals: REFUSALS, agent: 'flooder' },
  })
  await upload([row])
  await upload([row])
  const events = await auditOf(replica.db, act)
  expect(events.map(({ type }) => type)).toEqual(['action.denied'])
  expect(events[0]?.details).toMatchObject({
    reason: note,
    refusals: REFUSALS,
    record_id: row.id,
    decision: 'deny',
  })
  const { rows } = await replica.db.query('select requests, refusals from traffic where id = $1', [row.id])
  expect(rows).toEqual([{ requests: 1_240, refusals: REFUSALS }])
})

const MINUTE = '2026-04-02T00:01:'
const SPAN = { from: '2026-04-02T00:00:00.000Z', to: '2026-04-02T00:10:00.000Z', bucketSeconds: 60 }

test.each<[string, number, (n: number) => Partial<TrafficRecord>, { deny: number; allow: number }]>([
  ['a count beyond its rate', 1, () => ({}), { deny: 600_000, allow: 0 }],
  [
    'the same in several rows of a minute',
    3,
    (n) => ({ time: `${MINUTE}0${n}.000Z` }),
    { deny: 600_002, allow: 0 },
  ],
  ['refusals on calls that were let through', 2, () => ({ decision: 'ALLOW' }), { deny: 0, allow: 2 }],
  ['refusals on what a person answered', 2, () => ({ approval_id: 'apv_unknown' }), { deny: 2, allow: 0 }],
])(
  'a gateway that claims %s adds no more to the totals than it may send',
  async (_what, rows, changes, wanted) => {
    const orgId = (await replica.db.query<{ id: string }>('select id from orgs')).rows[0]?.id ?? ''
    const liar = await replica.enrol(`default/claims-${liars++}`)
    const claim = (n: number) =>
      record({
        ...{
          decision: 'DENY',
          status: 403,
          time: `${MINUTE}00.000Z`,
          agent: null,
          process_id: `proc_claims_${liars}`,
        },
        ...{ refusals: { ...REFUSALS, count: 1_000_000_000 }, note: 'x' },
        ...changes(n),
      })
    // A row each in a batch of its own, then the same batch again.
    for (let n = 0; n < rows; n++) {
      const batch = { records: [claim(n)], lost: [] }
      expect((await replica.gateway(liar, 'POST', '/api/gateway/records', batch)).status).toBe(200)
      expect((await replica.gateway(liar, 'POST', '/api/gateway/records', batch)).status).toBe(200)
    }
    const { buckets } = await countByTime(createScopedQuery(replica.db, 'all'), orgId, SPAN)
    const sum = (key: 'deny' | 'allow') => buckets.reduce((total, bucket) => total + bucket[key], 0)
    const sums = { deny: sum('deny'), allow: sum('allow') }
    await replica.db.query("select purge_traffic('2026-04-03')")
    expect(sums).toEqual(wanted)
  },
)
let liars = 0

test('an agent with many kinds of denials hides no other agent in the most frequent denials', async () => {
  const orgId = (await replica.db.query<{ id: string }>('select id from orgs')).rows[0]?.id ?? ''
  const time = '2026-04-02T00:01:30.000Z'
  const refused = { decision: 'DENY', reason: 'unknown_host', status: 403, time, action_type: null } as const
  const hosts = ['a', 'b', 'b', 'c', 'c', 'c'].map((name) => `${name}.example`)
  await upload([
    ...hosts.map((host) => record({ ...refused, host, agent: 'scanning' })),
    record({ ...refused, host: 'a.example', agent: 'other' }),
  ])
  const span = { from: '2026-04-02T00:00:00.000Z', to: '2026-04-02T00:10:00.000Z' }
  const top = { ...span, limit: 5, limitOfAgent: 2 }
  expect(await topDenials(createScopedQuery(replica.db, 'all'), orgId, top)).toMatchObject([
    { agent: 'scanning', host: 'c.example', count: 3, agentCount: 6 },
    { agent: 'scanning', host: 'b.example', count: 2, agentCount: 6 },
    { agent: 'other', host: 'a.example', count: 1, agentCount: 1 },
  ])
  await replica.db.query("select purge_traffic('2026-04-03')")
})

test('every count has all requests of a row', async () => {
  const orgId = (await replica.db.query<{ id: string }>('select id from orgs')).rows[0]?.id ?? ''
  const span = { from: '2026-04-01T00:00:00.000Z', to: '2026-04-01T00:10:00.000Z', bucketSeconds: 60 }
  const time = '2026-04-01T00:01:30.000Z'
  const before = await countActions(replica.db, orgId)
  const denied = { decision: 'DENY', reason: 'permission', status: 403, time, agent: 'loud' } as const
  await upload([record({ ...denied, refusals: REFUSALS }), record(denied), record({ time, agent: 'loud' })])
  const { buckets } = await countByTime(createScopedQuery(replica.db, 'all'), orgId, span)
  expect(buckets.reduce((sum, { deny }) => sum + deny, 0)).toBe(1_241)
  expect(buckets.reduce((sum, { allow }) => sum + allow, 0)).toBe(1)
  const top = { ...span, limit: 5, limitOfAgent: 2 }
  expect(await topDenials(createScopedQuery(replica.db, 'all'), orgId, top)).toMatchObject([
    { agent: 'loud', count: 1_241, agentCount: 1_241 },
  ])
  expect(await busiestAgents(createScopedQuery(replica.db, 'all'), orgId, top)).toMatchObject([
    { agent: 'loud', allow: 1, deny: 1_241 },
  ])
  expect((await countActions(replica.db, orgId)).total - before.total).toBe(1_242)
  const live = await countActions(replica.db, orgId)
  await upload([record({ ...denied, time: new Date().toISOString(), refusals: { ...REFUSALS, count: 500 } })])
  const after = await countActions(replica.db, orgId)
  expect(after.lastHour - live.lastHour).toBe(500)
  expect(after.decisions24h.deny - live.decisions24h.deny).toBe(500)
  const yesterday = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)
  expect(await dropOldTraffic(replica.db, yesterday)).toBe(3)
  expect((await countActions(replica.db, orgId)).total).toBe(after.total)
})

test('a gateway over its ingest quota receives Retry-After, nothing is stored, and others are not delayed', async () => {
  const greedy = await replica.enrol('default/greedy')
  const send = (from: Enrolled, records: TrafficRecord[]) =>
    replica.gateway(from, 'POST', '/api/gateway/records', { records, lost: [] })
  const batch = () => Array.from({ length: 1_000 }, () => record({ agent: null, process_id: 'proc_greedy' }))
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) statuses.push((await send(greedy, batch())).status)
  expect(statuses.slice(0, 2)).toEqual([200, 200])
  const last = batch()
  const refused = await send(greedy, last)
  expect(refused.status).toBe(429)
  expect(refused.body).toMatchObject({
    retry_after: expect.any(Number),
    message: expect.stringContaining('default/greedy'),
  })
  expect(await stored(last[0]?.id ?? '')).toEqual([])
  expect((await send(gateway, [record()])).status).toBe(200)
})

test('words that only newer gateways have are kept in traffic and audit log, and cost no record', async () => {
  const why = {
    ...{ source: 'budget', reason: 'The budget of the team is used up.', pattern: null, rules: [] },
    ...{ risk_score: 0.5, risk_factors: [], approver_groups: [] },
  }
  const newer = { decision: 'DEFER', would: 'REDACT', handle: 'lent', why }
  const act_id = newId('actionRequest')
  const one = { ...record({ act_id, reason: 'over budget' }), ...newer } as TrafficRecord
  const lost = { process_id: 'proc_newer', from: 1, to: 2, reason: 'outdated' }
  expect((await upload([one], [lost])).body).toEqual({ accepted: [one.id] })
  const { rows } = await replica.db.query('select decision, would, handle, why from traffic where id = $1', [
    one.id,
  ])
  expect(rows).toEqual([newer])
  expect(
    (await replica.db.query("select from_seq, reason from lost_records where process_id = 'proc_newer'"))
      .rows,
  ).toEqual([{ from_seq: 1, reason: 'outdated' }])
  const [event, ...further] = await auditOf(replica.db, act_id)
  expect(event).toMatchObject({
    type: 'action.requested',
    details: { decision: 'DEFER', reason: 'over budget' },
  })
  expect(further).toEqual([])
})

/** Matches a percentile of this latency. */
const accurate = (ms: number) => expect.toSatisfy((value: number) => Math.abs(value / ms - 1) <= 0.02)

test('the latency of the overview leaves out requests that waited for an approval', async () => {
  const orgId = (await replica.db.query<{ id: string }>('select id from orgs')).rows[0]?.id ?? ''
  const span = { from: '2026-04-02T00:00:00.000Z', to: '2026-04-02T00:01:00.000Z', bucketSeconds: 60 }
  const time = '2026-04-02T00:00:30.000Z'
  // An upload would remove the approval, which does not exist.
  await insertTraffic(replica.db, orgId, [
    record({ time, latency_ms: 10 }),
    record({ time, latency_ms: 240_000, approval_id: 'apr_1' }),
  ])
  const { buckets } = await countByTime(createScopedQuery(replica.db, 'all'), orgId, span)
  expect(buckets).toMatchObject([{ allow: 2, p50: accurate(10), p95: accurate(10) }])
})

test('the latency of a period is that of all its requests, and null without requests', async () => {
  const orgId = (await replica.db.query<{ id: string }>('select id from orgs')).rows[0]?.id ?? ''
  const at = (second: string, latency_ms: number) =>
    record({ time: `2026-04-03T00:${second}.000Z`, latency_ms })
  await upload([at('00:10', 10), at('00:20', 20), at('00:30', 30), at('00:40', 40), at('02:10', 1_000)])
  const countIn = (day: string) => {
    const span = { from: `${day}T00:00:00.000Z`, to: `${day}T00:03:00.000Z`, bucketSeconds: 60 }
    return countByTime(createScopedQuery(replica.db, 'all'), orgId, span)
  }
  const { buckets, latency } = await countIn('2026-04-03')
  expect(buckets.map(({ allow, p50 }) => [allow, p50])).toEqual([
    [4, accurate(20)],
    [0, null],
    [1, accurate(1_000)],
  ])
  expect(latency).toEqual({ p50: accurate(30), p95: accurate(1_000), p99: accurate(1_000) })
  const quiet = await countIn('2026-04-04')
  expect(quiet.buckets.map(({ allow, p50 }) => [allow, p50])).toEqual(Array(3).fill([0, null]))
  expect(quiet.latency).toEqual({ p50: null, p95: null, p99: null })
})
