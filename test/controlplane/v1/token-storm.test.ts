import { afterAll, beforeAll, expect, test } from 'vitest'
import { at, type Call, type TestControlPlane } from '../routes/start.ts'
import { ALLOWED, startWorld, type TestAgent, type World } from './world.ts'

let world: World
let replica: TestControlPlane

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

type Issued = { readonly id: string; readonly token: string }

function verify(call: Call, token: string, id: string) {
  return call('POST', '/api/v1/tokens/verify', { decision_token: token, action_request_id: id })
}

test('2,000 tokens, each shown 16 times at once to two replicas, succeed exactly 2,000 times', async () => {
  const issued: Issued[] = []
  const actions = Array(20).fill({ action_spec: ALLOWED })
  for (let round = 0; round < 100; round++) {
    const by = round % 50 === 0 ? await world.agent() : last
    last = by
    const { body } = await by.call('POST', '/api/v1/actions/batch', { actions })
    for (const result of body['results'] as Record<string, string>[]) {
      issued.push({ id: result['action_request_id'] ?? '', token: result['decision_token'] ?? '' })
    }
  }
  expect(issued).toHaveLength(2_000)
  const replies = new Map<string, number>()
  const outcomes = await inGroups(issued, 12, async ({ id, token }) => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, (_, i) => verify(i % 2 === 0 ? world.plane.call : replica.call, token, id)),
    )
    for (const { status, body } of answers) {
      const key = status === 200 ? String(body['error'] ?? 'valid') : String(status)
      replies.set(key, (replies.get(key) ?? 0) + 1)
    }
    return answers.filter(({ body }) => body['valid'] === true).length
  })
  expect(outcomes.filter((count) => count === 1)).toHaveLength(2_000)
  expect(replies.get('valid')).toBe(2_000)
  // Failures beyond 12,000 a minute are refused as such; what is good is never limited.
  expect([...replies.keys()].sort()).toEqual(expect.arrayContaining(['Nonce already used', 'valid']))
  expect([...replies.keys()].filter((key) => !['Nonce already used', 'valid', '429'].includes(key))).toEqual(
    [],
  )
}, 240_000)
let last: TestAgent

async function inGroups<T, R>(
  items: readonly T[],
  size: number,
  work: (item: T) => Promise<R>,
): Promise<R[]> {
  const done: R[] = []
  for (let from = 0; from < items.length; from += size) {
    done.push(...(await Promise.all(items.slice(from, from + size).map(work))))
  }
  return done
}

test('12,000 failures a minute from one address are told apart, then refused; a good token still passes', async () => {
  const agent = await world.agent()
  const { body } = await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
  const garbage = async () => verify(world.plane.call, 'garbage', 'act_x')
  let refused = await garbage()
  for (let sent = 0; refused.status === 200 && sent < 13_000; sent += 50) {
    const answers = await Promise.all(Array.from({ length: 50 }, garbage))
    refused = answers.find((answer) => answer.status === 429) ?? refused
  }
  expect(refused.status).toBe(429)
  const seconds = refused.headers.get('retry-after')
  expect(refused.text).toBe(`{"error":"Rate limit exceeded","retry_after":${seconds}}`)
  const good = await verify(world.plane.call, at(body, 'decision_token'), at(body, 'action_request_id'))
  expect(good.body['valid']).toBe(true)
}, 60_000)
