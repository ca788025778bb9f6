import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replyJson, startRecorder } from '../../support/recorder.ts'
import { at, type Call, caller, register } from '../routes/start.ts'
import { ALLOWED, bearer, DESTRUCTIVE, RISKY, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent
let owner: Call

beforeAll(async () => {
  world = await startWorld({ NOTIFY_ALLOW_CIDRS: '127.0.0.0/8' })
  await register(world.plane.call, 'owner@example.com')
  owner = await world.plane.signIn('owner@example.com')
  agent = await world.agent()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

async function pending(by: TestAgent = agent): Promise<{ id: string; approval: string }> {
  const { body } = await by.call('POST', '/api/v1/actions', { action_spec: RISKY })
  return { id: at(body, 'action_request_id'), approval: at(body, 'approval', 'id') }
}

function respond(call: Call, approval: string, decision = 'approve', reason?: string) {
  return call('POST', `/api/v1/approvals/${approval}/respond`, { decision, reason })
}

describe('answering an approval', () => {
  test('yes gives the token, and the chain and the audit details say who and how fast', async () => {
    const { id, approval } = await pending()
    const answer = await respond(owner, approval, 'approve', 'looks fine')
    expect(answer.status).toBe(200)
    expect(Object.keys(answer.body)).toEqual(['approval_id', 'status', 'decision_token'])
    expect(answer.body).toMatchObject({ approval_id: approval, status: 'approved' })
    const read = await agent.call('GET', `/api/v1/actions/${id}`)
    expect(read.body).toMatchObject({
      status: 'allowed',
      decision: { outcome: 'requires_approval' },
      decision_token: answer.body['decision_token'],
      approval: { id: approval, status: 'approved' },
    })
    expect(await world.chain(id)).toEqual([
      'action.requested',
      'action.pending_approval',
      'approval.responded',
    ])
    const [row] = await world.sql<{ details: object }>(
      "select details from audit_events where action_request_id = $1 and event_type = 'approval.responded'",
      [id],
    )
    expect(row?.details).toMatchObject({
      approved: true,
      responded_by: 'owner@example.com',
      response_time_seconds: expect.any(Number),
      note: 'looks fine',
    })
    const verified = await world.plane.call('POST', '/api/v1/tokens/verify', {
      decision_token: answer.body['decision_token'],
      action_request_id: id,
    })
    expect(verified.body['valid']).toBe(true)
  })

  test('no gives none', async () => {
    const { id, approval } = await pending()
    expect((await respond(owner, approval, 'deny')).body).toEqual({
      approval_id: approval,
      status: 'denied',
      decision_token: null,
    })
    expect((await agent.call('GET', `/api/v1/actions/${id}`)).body).toMatchObject({
      status: 'denied',
      decision_token: null,
    })
  })

  test('counts once, however many answer at the same moment', async () => {
    const asker = await world.agent()
    for (let round = 0; round < 5; round++) {
      const { id, approval } = await pending(asker)
      const answers = await Promise.all(
        Array.from({ length: 12 }, (_, i) => respond(owner, approval, i % 2 === 0 ? 'approve' : 'deny')),
      )
      const winners = answers.filter((answer) => answer.status === 200)
      expect(winners).toHaveLength(1)
      expect(answers.filter((answer) => answer.status === 409)).toHaveLength(11)
      const { body } = await asker.call('GET', `/api/v1/actions/${id}`)
      expect(body['status']).toBe(winners[0]?.body['status'] === 'approved' ? 'allowed' : 'denied')
      expect((await world.chain(id)).filter((type) => type === 'approval.responded')).toHaveLength(1)
    }
  })

  test('comes too late after five minutes by the database: 410, and the action is expired', async () => {
    const { id, approval } = await pending()
    await world.sql("update approvals set expires_at = now() - interval '1 second' where id = $1", [approval])
    const { body } = await agent.call('GET', `/api/v1/actions/${id}`)
    expect(body).toMatchObject({ status: 'expired', approval: { status: 'expired' }, decision_token: null })
    expect((await respond(owner, approval)).status).toBe(410)
    await eventually('the event of the expiry', async () =>
      (await world.chain(id)).includes('approval.expired') ? true : null,
    )
    expect(await world.chain(id)).toEqual(['action.requested', 'action.pending_approval', 'approval.expired'])
    expect((await respond(owner, approval)).status).toBe(410)
  })

  test('is nothing for agents, strangers, wrong words and unknown ids', async () => {
    const { id, approval } = await pending()
    const other = await world.agent({ capabilities: ['org:kill_switch', 'audit:read', 'agents:register'] })
    for (const call of [agent.call, other.call]) expect((await respond(call, approval)).status).toBe(403)
    expect((await respond(world.plane.call, approval)).status).toBe(401)
    expect((await respond(owner, approval, 'yes')).status).toBe(400)
    expect((await respond(owner, 'apr_nothing')).status).toBe(404)
    expect((await respond(owner, 'apv_nothing')).status).toBe(404)
    expect((await agent.call('GET', `/api/v1/actions/${id}`)).body['status']).toBe('pending_approval')
  })

  test('with named groups accepts a member of one, by session or by key', async () => {
    const policyYaml = `scope: { actions: ["group.thing.do"] }\nrules:\n  - { name: r, conditions: ['true'], decision: require_approval, approver_groups: [release] }\n`
    await world.admin('POST', '/api/dashboard/policies', { name: 'groups', policyYaml, priority: 500 })
    const invited = await owner('POST', '/api/dashboard/users', {
      action: 'invite',
      email: 'member@example.com',
      role: 'member',
    })
    const token = at(invited.body, 'invite_token')
    const joined = await register(world.plane.call, 'member@example.com', { invite_token: token })
    expect(joined.status, joined.text).toBe(200)
    const userId = at(joined.body, 'user', 'id')
    await owner('POST', '/api/dashboard/users', {
      user_id: userId,
      action: 'set_groups',
      groups: ['release'],
    })
    const member = await world.plane.signIn('member@example.com')
    const key = at((await member('POST', '/api/auth/keys', {})).body, 'api_key')
    const ask = async () => {
      const { body } = await agent.call('POST', '/api/v1/actions', {
        action_spec: { type: 'group.thing.do', resource: { provider: 'group' } },
      })
      expect(at(body, 'approval', 'required_approver_groups')).toEqual(['release'])
      return at(body, 'approval', 'id')
    }
    const approval = await ask()
    expect((await respond(owner, approval)).status).toBe(403)
    expect((await respond(member, approval)).status).toBe(200)
    expect((await respond(caller(world.plane.url, bearer(key)), await ask())).status).toBe(200)
  })
})

describe('agents register agents', () => {
  test('with the capability, and the new key works at once', async () => {
    const boss = await world.agent({ capabilities: ['agents:register'] })
    const made = await boss.call('POST', '/api/v1/agents/register', {
      name: 'made-by-boss',
      runtime: 'python',
      environment: 'production',
    })
    expect(made.status).toBe(200)
    expect(made.body).toEqual({
      agent_id: expect.stringMatching(/^agent_/),
      api_key: expect.stringMatching(/^svc_live_\w{43}$/),
      api_key_prefix: at(made.body, 'api_key').slice(0, 15),
    })
    const fresh = caller(world.plane.url, bearer(at(made.body, 'api_key')))
    const answer = await fresh('POST', '/api/v1/actions', { action_spec: ALLOWED })
    expect(answer.body['status']).toBe('allowed')
  })

  test('without it not, and never with a field missing', async () => {
    const body = { name: 'nobody', runtime: 'x', environment: 'y' }
    const refused = await agent.call('POST', '/api/v1/agents/register', body)
    expect(refused.status).toBe(403)
    expect(refused.body['error']).toBe('Forbidden')
    const boss = await world.agent({ capabilities: ['agents:register'] })
    const missing = await boss.call('POST', '/api/v1/agents/register', { name: 'x', environment: 'y' })
    expect([missing.status, missing.body['details']]).toEqual([400, 'runtime: is required'])
  })
})

test('policies are listed with the fields of the specification', async () => {
  const { status, body } = await agent.call('GET', '/api/v1/policies')
  expect(status).toBe(200)
  const list = body['policies'] as Record<string, unknown>[]
  expect(list.map((policy) => policy['name'])).toEqual(
    expect.arrayContaining(['default-deny-destructive', 'default-approve-risky', 'default-allow-safe']),
  )
  for (const policy of list) {
    expect(Object.keys(policy)).toEqual([
      'id',
      'name',
      'description',
      'enabled',
      'priority',
      'tags',
      'created_at',
    ])
  }
})

describe('the audit log', () => {
  beforeAll(async () => {
    agent = await world.agent()
  })

  test('shows an agent its own events, newest first, and pages through them without gaps', async () => {
    const [one, other] = [await world.agent(), await world.agent()]
    for (let i = 0; i < 6; i++) {
      await one.call('POST', '/api/v1/actions', { action_spec: i % 2 === 0 ? ALLOWED : DESTRUCTIVE })
      await other.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    }
    const all = await one.call('GET', '/api/v1/audit/events')
    expect(all.body).toMatchObject({ total: 13, limit: 50, offset: 0 })
    const events = all.body['events'] as Record<string, string>[]
    expect(events).toHaveLength(13)
    expect(events[0]).toEqual({
      id: expect.stringMatching(/^evt_\d{12}$/),
      event_type: 'action.denied',
      org_id: expect.stringMatching(/^org_/),
      agent_id: one.id,
      action_request_id: expect.stringMatching(/^act_/),
      details: expect.any(Object),
      created_at: expect.stringMatching(/Z$/),
    })
    expect(new Set(events.map((event) => event['agent_id']))).toEqual(new Set([one.id]))
    const ids = events.map((event) => event['id'])
    expect(ids).toEqual([...ids].sort().reverse())
    const pages: string[] = []
    for (let offset = 0; offset < 15; offset += 4) {
      const page = await one.call('GET', `/api/v1/audit/events?limit=4&offset=${offset}`)
      expect(page.body).toMatchObject({ total: 13, limit: 4, offset })
      pages.push(...(page.body['events'] as Record<string, string>[]).map((event) => event['id'] ?? ''))
    }
    expect(pages).toEqual(ids)
  })

  test('shows everything with audit:read, and counts right after old events were purged', async () => {
    const auditor = await world.agent({ capabilities: ['audit:read'] })
    const total = async () => {
      const { body } = await auditor.call('GET', '/api/v1/audit/events?limit=1')
      const [row] = await world.sql<{ n: string }>('select count(*) as n from audit_events')
      expect(body['total']).toBe(Number(row?.n))
      return Number(row?.n)
    }
    await total()
    const before = await total()
    await world.sql(
      "update audit_events set created_at = created_at - interval '400 days' where id <= (select min(id) + 20 from audit_events)",
    )
    expect(await total()).toBe(before)
    await world.sql("select purge_audit_events(id, now() - interval '365 days') from orgs")
    expect(await total()).toBeLessThan(before)
    await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    await total()
  })

  test.each(['limit=0', 'limit=501', 'limit=x', 'offset=-1', 'limit=1.5'])('refuses ?%s', async (query) => {
    const answer = await agent.call('GET', `/api/v1/audit/events?${query}`)
    expect(answer.status).toBe(400)
    expect(answer.body['error']).toBe('Validation failed')
  })
})

describe('the kill switch', () => {
  beforeEach(async () => {
    agent = await world.agent()
  })

  test('takes the capability; then every action is denied with its reason, and the dry run keeps its trace', async () => {
    const refused = await agent.call('POST', '/api/v1/org/kill-switch', { active: true, reason: 'x' })
    expect(refused.status).toBe(403)
    const warden = await world.agent({ capabilities: ['org:kill_switch'] })
    expect((await warden.call('POST', '/api/v1/org/kill-switch', { reason: 'x' })).status).toBe(400)
    const on = await warden.call('POST', '/api/v1/org/kill-switch', { active: true, reason: 'runaway agent' })
    expect(on.body).toEqual({ kill_switch: true })
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    expect(body).toMatchObject({
      status: 'denied',
      decision: { outcome: 'deny', reason: 'Kill switch active: runaway agent' },
      decision_token: null,
    })
    expect(await world.chain(at(body, 'action_request_id'))).toEqual(['action.requested', 'action.denied'])
    const dry = await agent.call('POST', '/api/v1/actions/dry-run', { action_spec: RISKY })
    expect(dry.body).toMatchObject({
      decision: { outcome: 'deny', reason: 'Kill switch active: runaway agent' },
      policies_evaluated: (dry.body['trace'] as unknown[]).length,
    })
    expect(JSON.stringify(dry.body['trace'])).toContain('"conditions_matched":true')
    const off = await warden.call('POST', '/api/v1/org/kill-switch', { active: false, reason: 'over' })
    expect(off.body).toEqual({ kill_switch: false })
    expect((await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })).body['status']).toBe(
      'allowed',
    )
    const [row] = await world.sql<{ details: object; agent_id: string }>(
      "select details, agent_id from audit_events where event_type = 'kill_switch.activated' order by id desc limit 1",
    )
    expect(row).toMatchObject({
      agent_id: warden.id,
      details: { scope: 'all', activated_by: warden.name, reason: 'runaway agent' },
    })
  })

  test.each(['team:x', 'connector:', 'two words', ''])(
    'with the scope %j is refused in both directions, and the kill switch stays unchanged',
    async (scope) => {
      const warden = await world.agent({ capabilities: ['org:kill_switch'] })
      for (const isActive of [false, true]) {
        const isStopped = isActive ? 'allowed' : 'denied'
        await warden.call('POST', '/api/v1/org/kill-switch', { active: !isActive })
        const refused = await warden.call('POST', '/api/v1/org/kill-switch', { active: isActive, scope })
        expect(refused.status).toBe(400)
        expect(refused.body['error']).toBe('Validation failed')
        expect(refused.body['details']).toMatch(/^scope: .*(connector:NAME, agent:NAME, gateway:NAME)/)
        const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
        expect(body['status']).toBe(isStopped)
      }
    },
  )

  test('with a scope stops and lifts that alone', async () => {
    const warden = await world.agent({ capabilities: ['org:kill_switch'] })
    const [one, other] = [await world.agent(), await world.agent()]
    const toggle = async (given: object) => (await warden.call('POST', '/api/v1/org/kill-switch', given)).body
    const status = async (by: TestAgent) =>
      (await by.call('POST', '/api/v1/actions', { action_spec: ALLOWED })).body['status']
    const scope = `Agent:${one.name}`
    expect(await toggle({ active: true, scope, reason: 'odd' })).toEqual({ kill_switch: true })
    expect([await status(one), await status(other)]).toEqual(['denied', 'allowed'])
    await toggle({ active: true, reason: 'everything' })
    // Everything still is.
    expect(await toggle({ active: false, scope })).toEqual({ kill_switch: true })
    expect([await status(one), await status(other)]).toEqual(['denied', 'denied'])
    expect(await toggle({ active: false, scope: 'all' })).toEqual({ kill_switch: false })
    expect([await status(one), await status(other)]).toEqual(['allowed', 'allowed'])
  })

  test('stays on while another source has it on', async () => {
    const warden = await world.agent({ capabilities: ['org:kill_switch'] })
    await owner('POST', '/api/dashboard/kill-switch', { active: true, reason: 'users' })
    const off = await warden.call('POST', '/api/v1/org/kill-switch', { active: false })
    expect(off.body).toEqual({ kill_switch: true })
    await owner('POST', '/api/dashboard/kill-switch', { active: false })
    expect((await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })).body['status']).toBe(
      'allowed',
    )
  })

  test('of one connector or agent hits only that one', async () => {
    const [one, other] = [await world.agent(), await world.agent()]
    await owner('POST', '/api/dashboard/kill-switch', {
      active: true,
      scope: `agent:${one.name}`,
      reason: 'odd',
    })
    const status = async (by: TestAgent, spec: object) =>
      (await by.call('POST', '/api/v1/actions', { action_spec: spec })).body['status']
    expect([await status(one, ALLOWED), await status(other, ALLOWED)]).toEqual(['denied', 'allowed'])
    await owner('POST', '/api/dashboard/kill-switch', { active: false, scope: `agent:${one.name}` })
    await owner('POST', '/api/dashboard/kill-switch', {
      active: true,
      scope: 'connector:codehost',
      reason: 'odd',
    })
    const chat = { type: 'chat.user.list', resource: { provider: 'chat' } }
    expect([await status(one, ALLOWED), await status(one, chat)]).toEqual(['denied', 'allowed'])
    await owner('POST', '/api/dashboard/kill-switch', { active: false, scope: 'connector:codehost' })
  })
})

test('every webhook_url receives each decision, in the order of the decisions on an action', async () => {
  agent = await world.agent()
  const receiver = await startRecorder({ answer: replyJson({}) })
  try {
    const webhook_url = `${receiver.url}/hook`
    const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED, webhook_url })
    const waiting = await agent.call('POST', '/api/v1/actions', { action_spec: RISKY, webhook_url })
    await respond(owner, at(waiting.body, 'approval', 'id'))
    await agent.call('POST', `/api/v1/actions/${at(waiting.body, 'action_request_id')}/cancel`)
    const seen = await eventually('three notifications', () =>
      receiver.seen.length >= 3 ? receiver.seen : null,
    )
    const callbacks = seen.map((request) => JSON.parse(request.body.toString()) as Record<string, unknown>)
    const of = (id: unknown) =>
      callbacks.filter((one) => one['action_request_id'] === id).map((one) => [one['event'], one['status']])
    expect(of(body['action_request_id'])).toEqual([['action.allowed', 'allowed']])
    expect(of(waiting.body['action_request_id'])).toEqual([
      ['action.approved', 'allowed'],
      ['action.cancelled', 'cancelled'],
    ])
    // Order holds for each action by itself: two of them are delivered side by side.
    const first = callbacks.find((one) => one['action_request_id'] === body['action_request_id'])
    expect(first).toMatchObject({ action_spec: ALLOWED, decision_token: null })
  } finally {
    await receiver.close()
  }
})
