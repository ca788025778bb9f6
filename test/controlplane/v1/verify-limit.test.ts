import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { type PlainAnswer, postRequest, sendAll } from '../../bench/support/plain-http.ts'
import { at } from '../routes/start.ts'
import { ALLOWED, startWorld, type World } from './world.ts'

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

const PATH = '/api/v1/tokens/verify'
const LIMIT = 12_000

// Computes for 10 s: the limit of an address is as many requests.
test('12,000 failures a minute from one address are verified, then refused; a valid token still passes', async () => {
  const agent = await world.agent()
  const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
  const garbage = postRequest(PATH, { decision_token: 'garbage', action_request_id: 'act_x' })
  const port = Number(new URL(world.plane.url).port)
  const answers: PlainAnswer[] = []
  // The window slides: on a busy machine, what was sent after a minute would have room again.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now())
  try {
    await sendAll(port, 16, {
      requests: Array<string>(LIMIT + 500).fill(garbage),
      onAnswer: (answer) => void answers.push(answer),
    })
  } finally {
    clock.mockRestore()
  }
  const verified = answers.filter(({ status }) => status === 200)
  expect(verified).toHaveLength(LIMIT)
  expect(new Set(verified.map((answer) => answer.body))).toEqual(
    new Set(['{"valid":false,"error":"Malformed token"}']),
  )
  const refused = answers.filter(({ status }) => status === 429)
  expect(refused.length).toBeGreaterThan(0)
  expect(refused.length + verified.length).toBe(answers.length)
  for (const answer of refused) {
    expect(answer.body).toMatch(/^\{"error":"Rate limit exceeded","retry_after":[1-9]\d?\}$/)
  }
  const good = {
    decision_token: at(body, 'decision_token'),
    action_request_id: at(body, 'action_request_id'),
  }
  expect((await world.plane.call('POST', PATH, good)).body['valid']).toBe(true)
}, 120_000)
