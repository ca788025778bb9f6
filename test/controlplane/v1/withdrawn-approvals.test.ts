import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { RISKY, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  agent = await world.agent()
})
afterAll(() => world?.[Symbol.asyncDispose]())

async function approved() {
  const { body, text } = await agent.call('POST', '/api/v1/actions', { action_spec: RISKY })
  expect(body['status'], text).toBe('pending_approval')
  const [id, approval] = [at(body, 'action_request_id'), at(body, 'approval', 'id')]
  const reply = await world.admin('POST', `/api/v1/approvals/${approval}/respond`, { decision: 'approve' })
  return { id, approval, token: at(reply.body, 'decision_token') }
}
const withdraw = (id: string) => world.admin('DELETE', `/api/dashboard/proxy-approvals?id=${id}`)
const verify = ({ id, token }: { id: string; token: string }) =>
  world.plane.call('POST', '/api/v1/tokens/verify', { decision_token: token, action_request_id: id })

test('a withdrawn approval cancels the action and invalidates its decision token', async () => {
  const action = await approved()
  expect((await withdraw(action.approval)).body).toEqual({
    ok: true,
    id: action.approval,
    status: 'cancelled',
  })
  expect((await agent.call('GET', `/api/v1/actions/${action.id}`)).body).toMatchObject({
    status: 'cancelled',
    decision_token: null,
  })
  expect((await verify(action)).body).toMatchObject({ valid: false })
  expect(await world.chain(action.id)).toEqual([
    ...['action.requested', 'action.pending_approval', 'approval.responded'],
    ...['action.cancelled', 'approval.withdrawn'],
  ])
  expect((await withdraw(action.approval)).status).toBe(409)
})

test('an approval whose decision token was used stays', async () => {
  const action = await approved()
  expect((await verify(action)).body).toMatchObject({ valid: true })
  expect(await withdraw(action.approval)).toMatchObject({
    status: 409,
    body: { error: 'Too late to withdraw' },
  })
  expect((await agent.call('GET', `/api/v1/actions/${action.id}`)).body).toMatchObject({ status: 'allowed' })
})
