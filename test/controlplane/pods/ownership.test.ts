import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { SYNC_PATHS } from '../../../core/wire/gateway/sync.ts'
import { trafficRecord } from '../../sidecar/journal/traffic-record.ts'
import { eventually } from '../../support/eventually.ts'
import type { TestPod } from './fake-token-review.ts'
import { type PodWorld, type Sidecar, startPodWorld } from './pod-world.ts'

/** Two pods under one Gateway: another agent's, and another one of the victim's own agent. */
let world: PodWorld
let victim: Sidecar
let thieves: Readonly<Record<string, string>>
const NOW = new Date().toISOString()

beforeAll(async () => {
  world = await startPodWorld()
  await world.apply('Gateway', 'team', 'gateway', {})
  const pod = (name: string): TestPod => world.pod({ name, serviceAccount: 'default' })
  victim = await world.sidecar(pod('victim-0'), { agent: 'team/victim' })
  await eventually('rules', () => victim.snapshot())
  const [other, sibling] = [pod('thief-0'), pod('victim-1')]
  await world.report({ pod: other, agent: 'team/thief' }, { pod: sibling, agent: 'team/victim' })
  thieves = {
    'another agent': world.kube.tokenOf(other),
    'another pod of the agent': world.kube.tokenOf(sibling),
  }
})
afterAll(() => world?.[Symbol.asyncDispose]())

const as = (thief: string, method: string, path: string, body?: unknown, processId = victim.processId) =>
  world.call(thieves[thief] ?? '', method, path, body, { 'x-process-id': processId })
const hasSession = async () =>
  (
    await world.sql(
      `select 1 from gateway_processes where process_id = '${victim.processId}' and disconnected_at is null`,
    )
  ).length === 1

describe.each(['another agent', 'another pod of the agent'])('the token of %s', (thief) => {
  test.each([
    ['acknowledges no kill switch', SYNC_PATHS.ack, { kill_seq: 9_999_999_999_999, applied_at: NOW }],
    ['acknowledges no version', SYNC_PATHS.ack, { version: 9_999, applied_at: NOW }],
    ['refuses no version', SYNC_PATHS.ack, { rejected: { version: 1, error: 'x' }, applied_at: NOW }],
    ['reports no status', SYNC_PATHS.status, { agents: 99 }],
    ['gives no result', SYNC_PATHS.results, { order_id: 'ord_1' }],
    ['takes no slots', SYNC_PATHS.slots, { agent: 'team/victim' }],
    ['asks for no owners', SYNC_PATHS.handles, { agent: 'team/victim', hashes: ['a'.repeat(64)] }],
    ['opens no hold', SYNC_PATHS.holds, { agent: 'team/victim' }],
    ['uploads no records', SYNC_PATHS.records, { records: [] }],
    ['gets no certificate', SYNC_PATHS.certificate, { request: '' }],
  ])('%s in the name of another process', async (_what, path, body) => {
    const answer = await as(thief, 'POST', path, body)
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining('belongs to another')])
    expect(await hasSession()).toBe(true)
  })

  test('takes over no stream', async () => {
    const answer = await as(thief, 'GET', SYNC_PATHS.stream)
    expect(answer.status).toBe(403)
    const reply = await victim.control.client.post(SYNC_PATHS.records, { records: [] })
    expect([reply.status, await hasSession()]).toEqual([200, true])
  })

  test.each([
    ['without an agent', { agent: null, decision: 'ALLOW' as const, method: 'DELETE' }],
    ['of its own agent', { agent: 'team/thief' }],
    ["of the victim's agent", { agent: 'team/victim' }],
  ])('stores no record %s of another process', async (_what, changes) => {
    const record = trafficRecord({
      id: `rec_forged_${thief.length}`,
      process_id: victim.processId,
      ...changes,
    })
    const answer = await as(thief, 'POST', SYNC_PATHS.records, { records: [record] }, `proc_${thief.length}`)
    expect(answer.status).toBe(403)
    expect(await world.sql(`select 1 from traffic where id = '${record.id}'`)).toEqual([])
  })

  test('declares no records of another process as lost', async () => {
    const lost = [{ process_id: victim.processId, from: 1, to: 999 }]
    const answer = await as(thief, 'POST', SYNC_PATHS.records, { records: [], lost }, `proc_${thief.length}`)
    expect(answer.status).toBe(403)
    expect(await world.sql('select 1 from lost_records')).toEqual([])
  })
})

test('an approval is spent by the pods of its agent only', async () => {
  const binding = 'b'.repeat(64)
  const held = await victim.control.client.post(SYNC_PATHS.holds, { ...HOLD, binding, agent: 'team/victim' })
  const { approval } = JSON.parse(held.bytes.toString()) as { approval: { id: string } }
  await world.sql(
    `update approvals set status = 'approved', responded_at = clock_timestamp() where id = '${approval.id}'`,
  )
  const path = `${SYNC_PATHS.holds}/${approval.id}/spend`
  const stolen = await as('another agent', 'POST', path, { binding }, 'proc_spender')
  expect(stolen.status).toBe(404)
  const own = await victim.control.client.post(path, { binding })
  expect(JSON.parse(own.bytes.toString())).toMatchObject({ spent: true })
})

test('a process keeps its own records, those of an earlier one of its pod, and its id after a rotation', async () => {
  const records = [trafficRecord({ id: 'rec_before', process_id: 'proc_before', agent: null })]
  const lost = [{ process_id: 'proc_before', from: 5, to: 6 }]
  const reply = await victim.control.client.post(SYNC_PATHS.records, { records, lost })
  expect([reply.status, reply.bytes.toString()]).toEqual([200, '{"accepted":["rec_before"]}'])
})

test('what is refused for ever is named, so that the others can be sent, and may be declared as such', async () => {
  const own = { 'x-process-id': victim.processId }
  const send = (body: object) => world.call(victim.token, 'POST', SYNC_PATHS.records, body, own)
  const thief = thieves['another agent'] ?? ''
  await world.call(thief, 'POST', SYNC_PATHS.records, { records: [] }, { 'x-process-id': 'proc_thief' })
  const records = [
    trafficRecord({ id: 'rec_kept', process_id: victim.processId, agent: null }),
    trafficRecord({ id: 'rec_foreign', process_id: 'proc_thief', agent: null }),
  ]
  const refused = await send({ records })
  expect([refused.status, JSON.parse(refused.text)]).toMatchObject([
    403,
    { refused: { process_ids: ['proc_thief'] } },
  ])
  const agents = await send({
    records: [trafficRecord({ agent: 'team/thief' }), trafficRecord({ agent: '' })],
  })
  expect([agents.status, JSON.parse(agents.text)]).toMatchObject([
    403,
    { refused: { agents: ['team/thief', ''] } },
  ])
  const lost = [{ process_id: 'proc_thief', from: 0, to: 0, reason: 'refused' }]
  expect((await send({ records: records.slice(0, 1), lost })).status).toBe(200)
  expect(
    await world.sql(
      "select process_id, reason, left(reported_by, 4) as by from lost_records where reason = 'refused'",
    ),
  ).toEqual([{ process_id: 'proc_thief', reason: 'refused', by: 'pod:' }])
})

test('processes that were known before take nothing of the hourly quota of new ones', async () => {
  await world.sql(
    `insert into process_owners (process_id, owner, first_seen_at)
     select 'proc_known_' || n, owner, clock_timestamp() - interval '2 hours'
     from process_owners, generate_series(1, 1000) as n where process_id = '${victim.processId}'`,
  )
  const headers = { 'x-process-id': 'proc_after_known' }
  expect((await world.call(victim.token, 'POST', SYNC_PATHS.records, { records: [] }, headers)).status).toBe(
    200,
  )
})

test('one batch takes no more new processes than the quota has', async () => {
  const lost = Array.from({ length: 999 }, (_, n) => ({ process_id: `proc_many_${n}`, from: 0, to: 0 }))
  const headers = { 'x-process-id': victim.processId }
  const call = async (ranges: object[]) => {
    const body = { records: [], lost: ranges }
    return (await world.call(victim.token, 'POST', SYNC_PATHS.records, body, headers)).status
  }
  expect(await call(lost)).toBe(429)
  expect(await call(lost)).toBe(429)
})

test('one pod does not fill the table of processes', async () => {
  await world.sql(
    `insert into process_owners (process_id, owner) select 'proc_flood_' || n, owner
     from process_owners, generate_series(1, 1000) as n where process_id = '${victim.processId}'`,
  )
  const path = SYNC_PATHS.records
  const headers = { 'x-process-id': 'proc_new' }
  expect((await world.call(victim.token, 'POST', path, { records: [] }, headers)).status).toBe(429)
  const known = { 'x-process-id': victim.processId }
  expect((await world.call(victim.token, 'POST', path, { records: [] }, known)).status).toBe(200)
})

const HOLD = {
  ...{ act_id: 'act_own', connector: 'code', action_type: 'codehost.pr.merge', target: null, method: 'PUT' },
  ...{ host: 'api.github.com', path: '/x', parameters: {}, risk_score: 0.5, risk_factors: [] },
  ...{ matched_rule: null, required_approver_groups: [], requested_by_agent_text: null, body_sha256: null },
}
