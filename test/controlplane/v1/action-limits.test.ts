import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { caller as callerOf } from '../routes/start.ts'
import { ALLOWED, bearer, DESTRUCTIVE, startWorld, type World } from './world.ts'

let world: World

beforeAll(async () => {
  world = await startWorld()
})
afterAll(async () => {
  await world?.[Symbol.asyncDispose]()
})

describe('the limit of 60 requests a minute', () => {
  test('counts a batch and a dry run once each, and refuses in exactly the words of the specification', async () => {
    const caller = await world.agent()
    const actions = Array(20).fill({ action_spec: ALLOWED })
    expect((await caller.call('POST', '/api/v1/actions/batch', { actions })).status).toBe(200)
    expect((await caller.call('POST', '/api/v1/actions/dry-run', { action_spec: ALLOWED })).status).toBe(200)
    for (let i = 0; i < 58; i++) {
      expect((await caller.call('GET', '/api/v1/policies')).status).toBe(200)
    }
    const refused = await caller.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    expect(refused.status).toBe(429)
    const seconds = Number(refused.headers.get('retry-after'))
    expect(seconds).toBeGreaterThanOrEqual(1)
    expect(refused.text).toBe(`{"error":"Rate limit exceeded","retry_after":${seconds}}`)
  })
})

test('refused items of batches leave at most 540 actions of an agent and minute, on all replicas together', async () => {
  const caller = await world.agent()
  const replica = await world.replica()
  const there = callerOf(replica.url, bearer(caller.key))
  const actions = Array(20).fill({ action_spec: DESTRUCTIVE })
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, i) =>
      (i % 2 === 0 ? caller.call : there)('POST', '/api/v1/actions/batch', { actions }),
    ),
  )
  for (const { status, body, headers } of answers.filter((answer) => answer.status !== 200)) {
    expect([status, body['error']]).toEqual([429, 'Rate limit exceeded'])
    expect(Number(headers.get('retry-after'))).toBeGreaterThanOrEqual(1)
  }
  // A new minute may have begun in between.
  const minutes = await world.sql<{ n: number }>(
    `select count(*)::int as n from action_requests where agent_id = $1
     group by date_trunc('minute', created_at)`,
    [caller.id],
  )
  expect(Math.max(...minutes.map(({ n }) => n))).toBeLessThanOrEqual(540)
  expect(minutes.reduce((sum, { n }) => sum + n, 0)).toBeGreaterThanOrEqual(540)
  // The items that were not stored are counted in one event for each minute, once the minute is over.
  await world.sql(`update refused_item_tallies set minute = minute - interval '2 minutes'`)
  for (let n = 0; n < 2; n++) await world.replica()
  const events = await world.sql<{ details: { refusals?: Record<string, unknown>; reason: string } }>(
    `select details from audit_events where event_type = 'action.denied' and details ? 'refusals' order by id`,
  )
  expect(events.length).toBeLessThanOrEqual(2)
  expect(events.length).toBeGreaterThan(0)
  const stored = minutes.reduce((sum, { n }) => sum + n, 0)
  expect(events.reduce((sum, { details }) => sum + Number(details.refusals?.['count']), 0)).toBe(800 - stored)
  expect(events[0]?.details).toMatchObject({
    decision: 'deny',
    reason: expect.stringMatching(/^\d+ refusals from \S+Z to \S+Z, 1 target: items of batches/),
    refusals: { distinct_targets: 1, more_targets: false, targets: [DESTRUCTIVE.resource.target] },
  })
  const { first, last } = events[0]?.details.refusals ?? {}
  expect(Date.parse(String(first))).toBeLessThanOrEqual(Date.parse(String(last)))
  const allowed = { actions: Array(20).fill({ action_spec: ALLOWED }) }
  expect((await caller.call('POST', '/api/v1/actions/batch', allowed)).status).toBe(200)
  expect((await caller.call('POST', '/api/v1/actions', { action_spec: DESTRUCTIVE })).status).toBe(200)
})

test('two replicas share the window of an agent, exactly, however the requests come', async () => {
  const caller = await world.agent()
  const replica = await world.replica()
  const there = callerOf(replica.url, bearer(caller.key))
  const answers = await Promise.all(
    Array.from({ length: 90 }, (_, i) => (i % 2 === 0 ? caller.call : there)('GET', '/api/v1/policies')),
  )
  expect(answers.filter((answer) => answer.status === 200)).toHaveLength(60)
  expect(answers.filter((answer) => answer.status === 429)).toHaveLength(30)
  await world.sql(
    `update agent_windows set hits = (select array_agg(h - interval '1 minute' order by h) from unnest(hits) h)
     where agent_id = $1`,
    [caller.id],
  )
  expect((await there('GET', '/api/v1/policies')).status).toBe(200)
  expect(
    (await world.plane.call('GET', '/api/v1/policies', undefined, bearer(`${caller.key.slice(0, 20)}wrong`)))
      .status,
  ).toBe(401)
})
