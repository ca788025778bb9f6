import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type Call, register } from '../routes/start.ts'
import { startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent
let owner: Call
let ann: Call
let finn: Call

beforeAll(async () => {
  world = await startWorld()
  await register(world.plane.call, 'owner@example.com')
  owner = await world.plane.signIn('owner@example.com')
  ann = await join('ann@example.com', 'security')
  finn = await join('finn@example.com', 'finance')
  for (const group of ['security', 'finance']) {
    const rule = `{ name: r, conditions: ['true'], decision: require_approval, approver_groups: [${group}] }`
    const policyYaml = `scope: { actions: ["group.thing.do"] }\nrules:\n  - ${rule}\n`
    const body = { name: group, policyYaml, priority: 500 }
    const made = await world.admin('POST', '/api/dashboard/policies', body)
    expect(made.status, made.text).toBe(200)
  }
  agent = await world.agent()
})
afterAll(() => world?.[Symbol.asyncDispose]())

async function join(email: string, group: string): Promise<Call> {
  const invite = { action: 'invite', email, role: 'member' }
  const invited = await owner('POST', '/api/dashboard/users', invite)
  const invite_token = at(invited.body, 'invite_token')
  const { body } = await register(world.plane.call, email, { invite_token })
  const groups = { action: 'set_groups', user_id: at(body, 'user', 'id'), groups: [group] }
  expect((await owner('POST', '/api/dashboard/users', groups)).status).toBe(200)
  return world.plane.signIn(email)
}

async function submit(): Promise<{ readonly id: string; readonly approval: string }> {
  const action_spec = { type: 'group.thing.do', resource: { provider: 'group' } }
  const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec })
  expect(body['status'], text).toBe('pending_approval')
  return { id: at(body, 'action_request_id'), approval: at(body, 'approval', 'id') }
}
const respond = (by: Call, approval: string, decision = 'approve') =>
  by('POST', `/api/v1/approvals/${approval}/respond`, { decision })
const tokenOf = async (id: string) => {
  const { body } = await agent.call('GET', `/api/v1/actions/${id}`)
  return [body['status'], body['decision_token'] === null]
}

test('an answer of v1 is pending, without a token, until every required group has answered', async () => {
  const { id, approval } = await submit()
  const first = await respond(ann, approval)
  expect([first.status, first.body]).toEqual([
    200,
    { approval_id: approval, status: 'pending', decision_token: null, answered_groups: ['security'] },
  ])
  expect(await tokenOf(id)).toEqual(['pending_approval', true])
  expect((await respond(ann, approval)).status).toBe(409)
  expect((await respond(ann, approval, 'deny')).status).toBe(409)
  expect((await respond(owner, approval)).status).toBe(403)
  const second = await respond(finn, approval)
  expect([second.status, second.body]).toEqual([
    200,
    { approval_id: approval, status: 'approved', decision_token: expect.any(String) },
  ])
  expect(await tokenOf(id)).toEqual(['allowed', false])
})

test('one denial of v1 denies, whichever group approved before', async () => {
  const { id, approval } = await submit()
  await respond(ann, approval)
  const denied = await respond(finn, approval, 'deny')
  expect([denied.status, denied.body]).toEqual([
    200,
    { approval_id: approval, status: 'denied', decision_token: null },
  ])
  expect(await tokenOf(id)).toEqual(['denied', true])
})
