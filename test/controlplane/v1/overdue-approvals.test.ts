import { afterAll, beforeAll, expect, test } from 'vitest'
import { at } from '../routes/start.ts'
import { RISKY, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let agent: TestAgent

beforeAll(async () => {
  world = await startWorld()
  agent = await world.agent()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

test('an approval whose time is over is listed as expired at once, and no longer as pending', async () => {
  const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: RISKY })
  const id = at(body, 'approval', 'id')
  const listed = async (status: string) => {
    const answer = await world.admin('GET', `/api/dashboard/proxy-approvals?status=${status}`)
    return (answer.body['approvals'] as Array<{ id: string; status: string }>).filter((row) => row.id === id)
  }
  expect(await listed('pending')).toHaveLength(1)
  await world.sql(
    "update approvals set expires_at = now() - interval '1 s', status = 'pending' where id = $1",
    [id],
  )
  expect(await listed('pending')).toEqual([])
  expect(await listed('expired')).toMatchObject([{ status: 'expired' }])
})
