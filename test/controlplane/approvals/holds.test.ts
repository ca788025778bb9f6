import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '../../../controlplane/crypto/ids.ts'
import type { ApprovalCard } from '../../../core/wire/gateway/internal.ts'
import { eventually } from '../../support/eventually.ts'
import {
  auditOf,
  type Enrolled,
  holdBody,
  openStream,
  person,
  type Replica,
  startWorld,
  type World,
} from '../sync/harness.ts'

let world: World
let replica: Replica
let second: Replica
let gateway: Enrolled

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  second = await world.replica()
  gateway = await replica.enrol('default/local')
})
afterAll(() => world.stop())

const hash = () => newId('hold').padEnd(64, '0').slice(-64)
const ask = async (body: ReturnType<typeof holdBody>, on = replica) => {
  const reply = await on.gateway(gateway, 'POST', '/api/gateway/holds', body)
  return reply as { status: number; body: { outcome: string; approval: ApprovalCard; error?: string } }
}
const spend = async (id: string, binding: string, on = replica) =>
  (await on.gateway(gateway, 'POST', `/api/gateway/holds/${id}/spend`, { binding })).body
const answer = (id: string, approved: boolean, who = person(), on = replica) =>
  on.user(who, 'POST', '/api/dashboard/proxy-approvals', { id, approved, note: 'looked at it' })
/** Moves an approval into the past by the database's clock, which is the only one that counts. */
const age = (id: string, seconds: number) =>
  replica.db.query(
    `update approvals set created_at = created_at - make_interval(secs => $2),
       expires_at = expires_at - make_interval(secs => $2), responded_at = responded_at - make_interval(secs => $2)
     where id = $1`,
    [id, seconds],
  )

describe('a hold', () => {
  test('shows the approver the whole request', async () => {
    const shown = {
      headers: [{ name: 'stripe-account', value: 'acct_1' }],
      unread_body: { description: 'Nobody read the body.', excerpt: null },
    }
    const body = holdBody({ binding: hash(), requested_by_agent_text: 'please', ...shown })
    const { body: reply } = await ask(body)
    expect(reply.outcome).toBe('created')
    expect(reply.approval).toMatchObject({
      ...{ kind: 'hold', status: 'pending', agent: 'builder', action_type: 'codehost.pr.merge' },
      ...{
        target: 'acme/site',
        method: 'PUT',
        host: 'api.github.com',
        path: '/repos/acme/site/pulls/1/merge',
      },
      ...{ parameters: { number: '1' }, requested_by_agent_text: 'please', responded_by: null },
      ...shown,
    })
    expect(reply.approval.id).toMatch(/^apv_/)
    const span = Date.parse(reply.approval.expires_at) - Date.parse(reply.approval.created_at)
    expect(span).toBe(300_000)
  })

  test('is one card for identical requests at the same time, on two replicas', async () => {
    const binding = hash()
    const asked = Array.from({ length: 24 }, (_, index) =>
      ask(holdBody({ binding, agent: 'twins' }), index % 2 === 0 ? replica : second),
    )
    const replies = (await Promise.all(asked)).map((reply) => reply.body)
    expect(replies.filter(({ outcome }) => outcome === 'created')).toHaveLength(1)
    expect(new Set(replies.map(({ approval }) => approval.id)).size).toBe(1)
  })

  test('of another gateway is another hold, even for the same request', async () => {
    const other = await replica.enrol('default/other')
    const binding = hash()
    const here = await ask(holdBody({ binding, agent: 'roamer' }))
    const there = await replica.gateway(
      other,
      'POST',
      '/api/gateway/holds',
      holdBody({ binding, agent: 'roamer' }),
    )
    expect(there.body).toMatchObject({ outcome: 'created' })
    await answer(here.body.approval.id, true)
    const stolen = await replica.gateway(other, 'POST', `/api/gateway/holds/${here.body.approval.id}/spend`, {
      binding,
    })
    expect(stolen.status).toBe(404)
    expect(await spend(here.body.approval.id, binding)).toEqual({ spent: true, status: 'approved' })
  })

  test('is refused with 429 when twenty of an agent wait already, and exactly then', async () => {
    const asked = Array.from({ length: 30 }, () => ask(holdBody({ binding: hash(), agent: 'eager' })))
    const statuses = (await Promise.all(asked)).map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(20)
    expect(statuses.filter((status) => status === 429)).toHaveLength(10)
    const refused = await ask(holdBody({ binding: hash(), agent: 'eager' }))
    expect(refused.body.error).toBe('too many pending approvals')
  })
})

const leave = (id: string, binding: string, asker: string, on = replica, who = gateway) =>
  on.gateway(who, 'POST', `/api/gateway/holds/${id}/leave`, { binding, asker })
const pendingOf = async (agent: string) => {
  const { body } = await replica.user(
    person(),
    'GET',
    '/api/dashboard/proxy-approvals?status=pending&limit=500',
  )
  return (body['approvals'] as ApprovalCard[]).filter((card) => card.agent === agent)
}
/** Moves the time at which agents left into the past. */
const ageLeave = (seconds: number, agent: string) =>
  replica.db.query('update approvals set left_at = left_at - make_interval(secs => $1) where agent = $2', [
    seconds,
    agent,
  ])

describe('a hold whose agent left', () => {
  const open = async (agent: string, asker = 'a1') => {
    const binding = hash()
    const { body } = await ask(holdBody({ binding, agent, asker }))
    return { id: body.approval.id, binding }
  }

  test('says so, leaves the list of pending ones after half a minute, and is back when the agent is', async () => {
    const { id, binding } = await open('leaver')
    expect((await pendingOf('leaver'))[0]).toMatchObject({ id, left_at: null })
    expect((await leave(id, binding, 'a1')).status).toBe(200)
    expect((await pendingOf('leaver'))[0]).toMatchObject({ id, left_at: expect.any(String) })
    await ageLeave(29, 'leaver')
    expect(await pendingOf('leaver')).toHaveLength(1)
    await ageLeave(2, 'leaver')
    expect(await pendingOf('leaver')).toEqual([])
    const again = await ask(holdBody({ binding, agent: 'leaver', asker: 'a2' }), second)
    expect(again.body).toMatchObject({ outcome: 'joined', approval: { id, left_at: null } })
    expect(await pendingOf('leaver')).toHaveLength(1)
  })

  test('can still be answered, and the yes is used by the same request when it is sent again', async () => {
    const { id, binding } = await open('answered-late')
    await leave(id, binding, 'a1')
    await ageLeave(100, 'answered-late')
    expect((await answer(id, true)).body).toMatchObject({ ok: true, status: 'approved' })
    const again = await ask(holdBody({ binding, agent: 'answered-late', asker: 'a2' }))
    expect(again.body).toMatchObject({ outcome: 'approved', approval: { id } })
  })

  test('does not count against the limit, and an agent that leaves opens no more than twice the limit', async () => {
    const agent = 'configurationUnstable'
    for (let round = 0; round < 3; round++) {
      const opened = await Promise.all(Array.from({ length: 20 }, () => open(agent)))
      const refused = await ask(holdBody({ binding: hash(), agent, asker: 'b' }))
      expect(refused.status).toBe(429)
      await Promise.all(opened.map(({ id, binding }) => leave(id, binding, 'a1')))
      // Who leaves and comes at once does not make room.
      expect((await ask(holdBody({ binding: hash(), agent, asker: 'b' }))).status).toBe(429)
      await ageLeave(31, agent)
    }
    expect((await ask(holdBody({ binding: hash(), agent, asker: 'b' }))).status).toBe(200)
    const { rows } = await replica.db.query<{ status: string; count: number }>(
      'select status, count(*)::int as count from approvals where agent = $1 group by status order by status',
      [agent],
    )
    expect(rows).toEqual([
      { status: 'expired', count: 41 },
      { status: 'pending', count: 20 },
    ])
  })

  test('is one whose last waiting process left, whatever the order of their reports', async () => {
    const agent = 'two-processes'
    const { id, binding } = await open(agent, 'p1')
    await ask(holdBody({ binding, agent, asker: 'p2' }), second)
    await leave(id, binding, 'p1')
    expect((await pendingOf(agent))[0]).toMatchObject({ left_at: null })
    // Repeated, unknown and foreign reports change nothing.
    await leave(id, binding, 'p1')
    await leave(id, binding, 'nobody')
    await leave(id, hash(), 'p2')
    expect((await pendingOf(agent))[0]).toMatchObject({ left_at: null })
    await leave(id, binding, 'p2', second)
    expect((await pendingOf(agent))[0]).toMatchObject({ left_at: expect.any(String) })
  })

  test('is not reported by another gateway', async () => {
    const { id, binding } = await open('mine')
    const other = await replica.enrol('default/stranger')
    expect((await leave(id, binding, 'a1', replica, other)).status).toBe(404)
    expect((await pendingOf('mine'))[0]).toMatchObject({ left_at: null })
  })

  test.each(['', 'x'.repeat(65)])('has an asker of 1 to 64 characters (%j is refused)', async (asker) => {
    const { id, binding } = await open('named')
    expect((await leave(id, binding, asker)).status).toBe(400)
    expect((await ask(holdBody({ binding: hash(), agent: 'named', asker }))).status).toBe(400)
  })

  test('is none where the gateway is of an older version', async () => {
    const binding = hash()
    const { id } = (await ask(holdBody({ binding, agent: 'older' }))).body.approval
    await leave(id, binding, 'a1')
    expect((await pendingOf('older'))[0]).toMatchObject({ left_at: null })
  })
})

describe('an approval', () => {
  test('is spent exactly once by 32 parallel uses on two replicas', async () => {
    const binding = hash()
    const { id } = (await ask(holdBody({ binding, agent: 'spender' }))).body.approval
    expect((await answer(id, true)).body).toEqual({ ok: true, id, status: 'approved' })
    const uses = await Promise.all(
      Array.from({ length: 32 }, (_, index) => spend(id, binding, index % 2 === 0 ? replica : second)),
    )
    expect(uses.filter(({ spent }) => spent === true)).toHaveLength(1)
  })

  test('is passed on to one retry of the same request, and not to another request', async () => {
    const binding = hash()
    const { id } = (await ask(holdBody({ binding, agent: 'retrier' }))).body.approval
    await answer(id, true)
    const retry = await ask(holdBody({ binding, agent: 'retrier' }))
    expect(retry.body).toMatchObject({ outcome: 'approved', approval: { id } })
    expect(await spend(id, hash())).toEqual({ spent: false, status: 'approved' })
    // By this call gateways read the state.
    expect(await spend(id, '')).toEqual({ spent: false, status: 'approved' })
    expect(await spend(id, binding)).toEqual({ spent: true, status: 'approved' })
    expect((await ask(holdBody({ binding, agent: 'retrier' }))).body.outcome).toBe('created')
  })

  test('is invalid five minutes after the answer', async () => {
    const binding = hash()
    const { id } = (await ask(holdBody({ binding, agent: 'late' }))).body.approval
    await answer(id, true)
    await age(id, 301)
    expect(await spend(id, binding)).toMatchObject({ spent: false })
    expect((await ask(holdBody({ binding, agent: 'late' }))).body.outcome).toBe('created')
  })

  test('that was denied or never answered lets nothing through', async () => {
    const binding = hash()
    const { id } = (await ask(holdBody({ binding, agent: 'denied' }))).body.approval
    expect(await spend(id, binding)).toEqual({ spent: false, status: 'pending' })
    await answer(id, false)
    expect(await spend(id, binding)).toEqual({ spent: false, status: 'denied' })
  })
})

describe('an answer', () => {
  test('counts once: of many at the same time one wins and the others get 409', async () => {
    const { id } = (await ask(holdBody({ binding: hash(), agent: 'raced' }))).body.approval
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        answer(
          id,
          index % 2 === 0,
          person({ email: `p${index}@example.com` }),
          index % 2 === 0 ? replica : second,
        ),
      ),
    )
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(9)
  })

  test('after the time by the database clock is 410, and the sweeper writes approval.expired once', async () => {
    const body = holdBody({ binding: hash(), agent: 'expiring' })
    const stream = await openStream(replica, gateway)
    const { id } = (await ask(body)).body.approval
    await age(id, 301)
    expect((await answer(id, true)).status).toBe(410)
    const verdict = await stream.next('verdict', (m) => m.verdict.id === id)
    expect(verdict.verdict.status).toBe('expired')
    const events = (await auditOf(replica.db, body.act_id)).map(({ type }) => type)
    expect(events).toEqual(['action.requested', 'action.pending_approval', 'approval.expired'])
    expect((await answer(id, true)).status).toBe(410)
    stream.close()
  })

  test('reaches every process of the gateway on both replicas, and a process that comes back', async () => {
    const here = await openStream(replica, gateway)
    const there = await openStream(second, gateway)
    const { id } = (await ask(holdBody({ binding: hash(), agent: 'spread' }))).body.approval
    await answer(id, true)
    for (const stream of [here, there]) {
      const { verdict } = await stream.next('verdict', (m) => m.verdict.id === id)
      expect(verdict).toMatchObject({ status: 'approved', by: 'ann@example.com', note: 'looked at it' })
    }
    const back = await openStream(replica, gateway)
    await back.next('verdict', (m) => m.verdict.id === id)
    for (const stream of [here, there, back]) stream.close()
  })

  test('is in the audit chain, with who, how long it took and the note', async () => {
    const body = holdBody({ binding: hash(), agent: 'audited' })
    const { id } = (await ask(body)).body.approval
    await answer(id, true)
    const events = await auditOf(replica.db, body.act_id)
    expect(events.map(({ type }) => type)).toEqual([
      'action.requested',
      'action.pending_approval',
      'approval.responded',
    ])
    expect(events[2]?.details).toMatchObject({
      ...{ approved: true, responded_by: 'ann@example.com', note: 'looked at it' },
      response_time_seconds: expect.any(Number),
    })
  })

  test('needs a member of a required group; owner and admin answer for a group without members', async () => {
    const id = async () =>
      (await ask(holdBody({ binding: hash(), agent: newId('agent'), required_approver_groups: ['release'] })))
        .body.approval.id
    const open = await id()
    const refused = await answer(open, true, person({ groups: ['support'] }))
    expect(refused.status).toBe(403)
    expect((await answer(open, true, person({ role: 'admin' }))).status).toBe(200)
    expect((await answer(await id(), true, person({ groups: ['release'] }))).status).toBe(200)
    await replica.db.query(
      "insert into users (id, org_id, email, name, role, password_hash, groups) values ($1, $2, 'r@example.com', 'R', 'member', 'x', '{release}')",
      [newId('user'), replica.orgId],
    )
    expect((await answer(await id(), true, person({ role: 'owner' }))).status).toBe(403)
  })

  test('is refused to a viewer', async () => {
    const { id } = (await ask(holdBody({ binding: hash(), agent: 'viewed' }))).body.approval
    const reply = await answer(id, true, person({ role: 'viewer' }))
    expect(reply.status).toBe(403)
    expect(reply.body).toMatchObject({ error: 'Forbidden', required_role: 'member', your_role: 'viewer' })
  })
})

test('a hold survives the control plane that took it, and is answered on another', async () => {
  const third = await world.replica()
  const binding = hash()
  const { id } = (await ask(holdBody({ binding, agent: 'survivor' }), third)).body.approval
  await third.stop()
  expect((await answer(id, true, person(), second)).status).toBe(200)
  expect(await spend(id, binding)).toEqual({ spent: true, status: 'approved' })
})

test('the internal API lists, answers once and returns only holds of its own gateway', async () => {
  const { id } = (await ask(holdBody({ binding: hash(), agent: 'internal' }))).body.approval
  const pending = await replica.command(gateway, 'approvals.pending')
  expect((pending.body['approvals'] as ApprovalCard[]).map((card) => card.id)).toContain(id)
  const other = await replica.enrol('default/stranger')
  const input = { id, approved: true, by: 'ops', note: 'fine' }
  expect((await replica.command(other, 'approvals.respond', input)).status).toBe(404)
  expect(await replica.command(gateway, 'approvals.respond', input)).toEqual({
    status: 200,
    body: { ok: true, id, status: 'approved' },
  })
  expect((await replica.command(gateway, 'approvals.respond', input)).status).toBe(409)
  const recent = await replica.command(gateway, 'approvals.recent')
  const card = (recent.body['approvals'] as ApprovalCard[]).find((one) => one.id === id)
  expect(card).toMatchObject({ status: 'approved', responded_by: 'ops', note: 'fine' })
  expect((await replica.command(gateway, 'approvals.respond', { ...input, id: 'apv_none' })).status).toBe(404)
  expect((await replica.command(gateway, 'approvals.respond', { id })).status).toBe(400)
})

test('the internal API answers under a claimed name, and the record and the audit log say so', async () => {
  const body = holdBody({ binding: hash(), agent: 'claimed' })
  const { id } = (await ask(body)).body.approval
  const input = { id, approved: true, by: 'ann@example.com' }
  expect((await replica.command(gateway, 'approvals.respond', input)).status).toBe(200)
  const events = await auditOf(replica.db, body.act_id)
  expect(events.at(-1)?.details).toMatchObject({
    ...{ responded_by: 'ann@example.com', responded_by_claimed: true, via: 'internal' },
    gateway: 'default/local',
  })
  const recent = await replica.command(gateway, 'approvals.recent')
  const card = (recent.body['approvals'] as ApprovalCard[]).find((one) => one.id === id)
  expect(card).toMatchObject({ responded_by: 'ann@example.com', responded_via: 'internal' })
  const signedIn = (await ask(holdBody({ binding: hash(), agent: 'signed-in' }))).body.approval
  await answer(signedIn.id, true)
  const rows = await replica.command(gateway, 'approvals.recent')
  expect((rows.body['approvals'] as ApprovalCard[]).find((one) => one.id === signedIn.id)).not.toMatchObject({
    responded_via: 'internal',
  })
})

test.each([
  ['approved', true, ['release']],
  ['denied', false, ['release']],
  ['approved, of a group that nobody is in', true, ['nobody-is-in-this-one']],
  ['approved, of several groups', true, ['release', 'finance']],
] as const)('what needs a group is not %s by the internal API', async (_name, approved, groups) => {
  const binding = hash()
  const given = { binding, agent: newId('agent'), required_approver_groups: [...groups] }
  const { id } = (await ask(holdBody(given))).body.approval
  for (const by of ['ops', 'r@example.com', 'release', 'admin_token']) {
    const refused = await replica.command(gateway, 'approvals.respond', { id, approved, by })
    expect(refused.status).toBe(403)
    expect(String(refused.body['message'])).toMatch(/dashboard/)
  }
  expect(await spend(id, binding)).toEqual({ spent: false, status: 'pending' })
})

test('nothing pending is left to the sweeper once all is answered or expired', async () => {
  await replica.db.query("update approvals set expires_at = now() where status = 'pending'")
  await ask(holdBody({ binding: hash(), agent: 'last' }))
  await replica.db.query("update approvals set expires_at = now() where status = 'pending'")
  await eventually('everything expired', async () => {
    const { rows } = await replica.db.query<{ n: number }>(
      "select count(*)::int as n from approvals where status = 'pending'",
    )
    return rows[0]?.n === 0 ? true : null
  })
})
