import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { TrafficRecord } from '../../../core/record.ts'
import { trafficRecord } from '../../sidecar/journal/traffic-record.ts'
import { auditOf, type Enrolled, holdBody, type Replica, startWorld, type World } from './harness.ts'

/** Two gateways with enrolment tokens, in two namespaces; each has agents of its own. */
let world: World
let replica: Replica
let alpha: Enrolled
let omega: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  alpha = await replica.enrol('alpha/main')
  omega = await replica.enrol('omega/main')
  for (const name of ['bot', 'plain']) {
    await replica.command(alpha, 'agents.register', { name: `alpha/${name}` })
    await replica.command(omega, 'agents.register', { name: `omega/${name}` })
  }
  await replica.command(omega, 'agents.register', { name: 'unnamespaced' })
})
afterAll(() => world.stop())

let seq = 0
const record = (changes: Partial<TrafficRecord>) =>
  trafficRecord({ ...{ id: newId('record'), process_id: 'proc_alpha', seq: seq++ }, ...changes })
const upload = (records: TrafficRecord[], of = alpha) =>
  replica.gateway(of, 'POST', '/api/gateway/records', { records }, `proc_${of.name.split('/')[0]}`)
const hold = (agent: string, changes = {}) =>
  replica.gateway(alpha, 'POST', '/api/gateway/holds', holdBody({ agent, ...changes }), 'proc_alpha')
const storedOf = async (agent: string) =>
  (
    await replica.db.query<{ what: string }>(
      `select 'record' as what from traffic where agent = $1 and gateway = 'alpha/main'
       union all select 'approval' from approvals where agent = $1`,
      [agent],
    )
  ).rows

const FOREIGN = [
  ...['omega/bot', 'omega/plain', 'unnamespaced', 'omega/ghost', 'omega/', 'Omega/bot', 'OMEGA/BOT'],
  ...[' omega/bot', 'omega/bot/x', 'omega//bot', '/omega/bot', 'omega\\/bot', './omega/bot', 'alpha /bot'],
]

describe.each(FOREIGN)('agent %j of another gateway or namespace', (agent) => {
  test('has no records of this gateway, and its own stay acceptable', async () => {
    const own = record({ agent: 'alpha/bot' })
    const refused = record({
      ...{ agent, decision: 'DENY', reason: 'policy', status: 403 },
      act_id: newId('actionRequest'),
    })
    const answer = await upload([own, refused])
    expect([answer.status, answer.body]).toMatchObject([403, { refused: { agents: [agent] } }])
    expect(await storedOf(agent)).toEqual([])
    expect(await auditOf(replica.db, refused.act_id ?? '')).toEqual([])
    expect((await upload([own])).status).toBe(200)
  })

  test('has no holds of this gateway', async () => {
    const body = { act_id: newId('actionRequest'), binding: 'c'.repeat(64) }
    const answer = await hold(agent, body)
    expect([answer.status, answer.body]).toMatchObject([403, { refused: { agents: [agent] } }])
    expect(await storedOf(agent)).toEqual([])
    expect(await auditOf(replica.db, body.act_id)).toEqual([])
  })
})

test.each(['omega/new', 'Omega/new', '/new', ' alpha/new'])(
  'agent %j is not made by this gateway',
  async (name) => {
    const reply = await replica.command(alpha, 'agents.register', { name })
    expect(reply.status).toBe(403)
    const { rows } = await replica.db.query('select 1 from agents where name = $1', [name])
    expect(rows).toEqual([])
  },
)

test('an agent of another namespace that is bound to no gateway stays unbound', async () => {
  await replica.command(omega, 'agents.register', { name: 'omega/loose' })
  await replica.db.query("update agents set gateway_id = null where name = 'omega/loose'", [])
  expect((await replica.command(alpha, 'agents.register', { name: 'omega/loose' })).status).toBe(403)
})

test.each(['alpha/bot', 'alpha/ended', 'nameless'])('agent %j has records and holds', async (agent) => {
  const kept = record({ agent })
  expect((await upload([kept])).body).toEqual({ accepted: [kept.id] })
  expect((await hold(agent, { binding: newId('hold') })).body).toMatchObject({ outcome: 'created' })
})

test('records of an agent that moved or was revoked lately are taken from the gateway that it had, holds are not', async () => {
  await replica.command(alpha, 'agents.register', { name: 'alpha/mover' })
  await replica.db.query("update agents set gateway_id = $1 where name = 'alpha/mover'", [omega.id])
  expect((await upload([record({ agent: 'alpha/mover' })])).status).toBe(200)
  expect((await hold('alpha/mover')).status).toBe(403)
  await replica.db.query("update former_gateways set served_until = served_until - interval '8 days'", [])
  expect((await upload([record({ agent: 'alpha/mover' })])).status).toBe(403)
})

test('records that a former gateway began after the end are refused one by one, those of before are taken', async () => {
  await replica.command(alpha, 'agents.register', { name: 'alpha/leaver' })
  await replica.db.query("update agents set gateway_id = $1 where name = 'alpha/leaver'", [omega.id])
  await replica.db.query(
    "update former_gateways set served_until = clock_timestamp() - interval '1 hour' where agent = 'alpha/leaver'",
    [],
  )
  const agoMs = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  const before = record({ agent: 'alpha/leaver', time: agoMs(61) })
  // The gateway may forward for up to 10 minutes without the control plane.
  const inLease = record({ agent: 'alpha/leaver', time: agoMs(51) })
  const after = record({ agent: 'alpha/leaver', time: agoMs(49) })
  const now = record({ agent: 'alpha/leaver', time: agoMs(0) })
  const own = record({ agent: 'alpha/bot', time: agoMs(0) })
  const answer = await upload([before, after, own, inLease, now])
  expect([answer.status, answer.body]).toMatchObject([
    403,
    { refused: { agents: [], record_ids: [after.id, now.id] } },
  ])
  expect((await upload([after])).status).toBe(403)
  expect((await upload([before, own, inLease])).body).toEqual({ accepted: [before.id, own.id, inLease.id] })
  expect(await storedOf('alpha/leaver')).toHaveLength(2)
})

test('a former gateway with a longer lease may have begun records until the lease ended', async () => {
  await replica.command(alpha, 'agents.register', { name: 'alpha/lingerer' })
  await replica.db.query("update agents set gateway_id = $1 where name = 'alpha/lingerer'", [omega.id])
  await replica.db.query(
    "update former_gateways set served_until = clock_timestamp() - interval '3 hours' where agent = 'alpha/lingerer'",
    [],
  )
  const setLease = (seconds: number) =>
    replica.db.query(
      `update gateways set spec = jsonb_set(spec, '{failurePolicy,everythingAfterSeconds}', to_jsonb($2::int))
       where id = $1`,
      [alpha.id, seconds],
    )
  const at = (minutes: number) => new Date(Date.now() - minutes * 60_000).toISOString()
  await setLease(7_200)
  const [inLease, after] = [61, 59].map((minutes) => record({ agent: 'alpha/lingerer', time: at(minutes) }))
  if (inLease === undefined || after === undefined) throw new Error('no records')
  expect((await upload([inLease, after])).body).toMatchObject({ refused: { record_ids: [after.id] } })
  expect((await upload([inLease])).body).toEqual({ accepted: [inLease.id] })
  await setLease(600)
})

test('a record names no action and no approval of an agent of another gateway', async () => {
  const body = holdBody({ agent: 'omega/bot', binding: 'd'.repeat(64) })
  const asked = await replica.gateway(omega, 'POST', '/api/gateway/holds', body, 'proc_omega')
  const { approval } = asked.body as { approval: { id: string } }
  const before = await auditOf(replica.db, body.act_id)
  const forged = record({
    ...{ agent: 'alpha/bot', decision: 'ALLOW', act_id: body.act_id, approval_id: approval.id },
  })
  expect((await upload([forged])).status).toBe(200)
  expect(await auditOf(replica.db, body.act_id)).toEqual(before)
  const { rows } = await replica.db.query('select act_id, approval_id from traffic where id = $1', [
    forged.id,
  ])
  expect(rows).toEqual([{ act_id: null, approval_id: null }])
})

test('a hold is joined by its own agent only, with the same binding', async () => {
  const binding = 'e'.repeat(64)
  const first = await hold('alpha/bot', { binding })
  const second = await hold('alpha/plain', { binding })
  expect([first.body, second.body]).toMatchObject([{ outcome: 'created' }, { outcome: 'created' }])
  await replica.db.query(
    "update approvals set status = 'approved', responded_at = clock_timestamp() where agent = 'alpha/plain'",
    [],
  )
  expect((await hold('alpha/bot', { binding })).body).toMatchObject({ outcome: 'joined' })
  expect((await hold('alpha/plain', { binding })).body).toMatchObject({ outcome: 'approved' })
})
