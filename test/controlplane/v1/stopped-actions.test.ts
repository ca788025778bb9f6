import { afterAll, beforeAll, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replyJson, startRecorder } from '../../support/recorder.ts'
import { at, type Call, register } from '../routes/start.ts'
import { ALLOWED, RISKY, startWorld, type TestAgent, type World } from './world.ts'

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

const setKillSwitch = (active: boolean, scope: string) =>
  owner('POST', '/api/dashboard/kill-switch', { active, scope, reason: 'drill' })
async function submit(by = agent, spec: object = RISKY, more: object = {}) {
  const { body } = await by.call('POST', '/api/v1/actions', { action_spec: spec, ...more })
  return {
    id: at(body, 'action_request_id'),
    body,
    approval: (body['approval'] as { id: string } | undefined)?.id ?? '',
  }
}
const respond = (approval: string) =>
  owner('POST', `/api/v1/approvals/${approval}/respond`, { decision: 'approve' })
const read = async (id: string, by = agent) => (await by.call('GET', `/api/v1/actions/${id}`)).body
const verify = async (token: unknown, id: string) =>
  (await world.plane.call('POST', '/api/v1/tokens/verify', { decision_token: token, action_request_id: id }))
    .body

test.each(['all', 'agent', 'connector:codehost', 'codehost'])(
  'a kill switch for %s cancels pending actions; afterwards the same action requires a new approval',
  async (named) => {
    const scope = named === 'agent' ? `agent:${agent.name}` : named
    const { id, approval } = await submit()
    await setKillSwitch(true, scope)
    expect(await read(id)).toMatchObject({
      status: 'cancelled',
      decision_token: null,
      approval: { id: approval, status: 'cancelled' },
    })
    await setKillSwitch(false, scope)
    expect((await respond(approval)).status).toBe(409)
    expect(await read(id)).toMatchObject({ status: 'cancelled', decision_token: null })
    const [event] = await world.sql<{ details: object; agent_id: string }>(
      "select details, agent_id from audit_events where action_request_id = $1 and event_type = 'action.cancelled'",
      [id],
    )
    expect(event).toMatchObject({
      agent_id: agent.id,
      details: { previous_status: 'pending_approval', reason: 'Kill switch active: drill', scope },
    })
    const again = await submit()
    expect(again.body).toMatchObject({ status: 'pending_approval' })
    expect(again.id).not.toBe(id)
    await agent.call('POST', `/api/v1/actions/${again.id}/cancel`)
  },
)

test('a kill switch for another scope cancels nothing', async () => {
  const { id, approval } = await submit()
  for (const scope of ['agent:somebody-else', 'connector:payments', 'gateway:team/other']) {
    await setKillSwitch(true, scope)
    await setKillSwitch(false, scope)
  }
  expect(await read(id)).toMatchObject({ status: 'pending_approval', approval: { status: 'pending' } })
  expect((await respond(approval)).body).toMatchObject({ status: 'approved' })
})

test('a kill switch revokes the token of an approved action, but not a used token or one that rules alone allowed', async () => {
  const [approved, used] = [await submit(), await submit()]
  const token = (await respond(approved.approval)).body['decision_token']
  const usedToken = (await respond(used.approval)).body['decision_token']
  expect(await verify(usedToken, used.id)).toMatchObject({ valid: true })
  const byRules = await submit(agent, ALLOWED)
  await setKillSwitch(true, 'all')
  expect(await verify(token, approved.id)).toMatchObject({ valid: false })
  await setKillSwitch(false, 'all')
  expect(await verify(token, approved.id)).toEqual({ valid: false, error: 'Nonce already used' })
  const executed = await agent.call('POST', `/api/v1/actions/${approved.id}/execute`, {
    decision_token: token,
  })
  expect(executed.status).toBe(409)
  expect(await read(approved.id)).toMatchObject({ status: 'cancelled', decision_token: null })
  expect(await read(used.id)).toMatchObject({ status: 'allowed', approval: { status: 'approved' } })
  expect(await verify(byRules.body['decision_token'], byRules.id)).toMatchObject({ valid: true })
})

test('an action that is submitted while a kill switch is being stored is never left pending', async () => {
  const asker = await world.agent()
  for (let round = 0; round < 5; round++) {
    const submissions = Array.from({ length: 6 }, () =>
      asker.call('POST', '/api/v1/actions', { action_spec: RISKY }),
    )
    const [, ...replies] = await Promise.all([setKillSwitch(true, `agent:${asker.name}`), ...submissions])
    for (const { body } of replies) {
      const now = await read(at(body, 'action_request_id'), asker)
      expect(['denied', 'cancelled']).toContain(now['status'])
    }
    await setKillSwitch(false, `agent:${asker.name}`)
  }
})

test('a receiver of notifications learns that the action was cancelled', async () => {
  await using receiver = await startRecorder({ answer: replyJson({}) })
  await submit(agent, RISKY, { webhook_url: `${receiver.url}/hook` })
  await setKillSwitch(true, 'all')
  await setKillSwitch(false, 'all')
  const [sent] = await eventually('the notification', () => (receiver.seen.length > 0 ? receiver.seen : null))
  expect(JSON.parse(String(sent?.body))).toMatchObject({ event: 'action.cancelled', status: 'cancelled' })
})
