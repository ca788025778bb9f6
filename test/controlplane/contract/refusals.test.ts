import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type Answer, at } from '../routes/start.ts'
import { ALLOWED } from '../v1/world.ts'
import { badRequests } from './bad-requests.ts'
import { conflicts, gone, notFounds } from './conflicts.ts'
import { type ContractWorld, startContractWorld } from './contract-world.ts'
import { forbidden, unauthorized } from './denials.ts'
import { on, type RefusalCase } from './refusal-case.ts'

let world: ContractWorld
const here = () => world
beforeAll(async () => {
  world = await startContractWorld()
})
beforeEach(() => world.freshWindows())
afterAll(() => world?.[Symbol.asyncDispose]())

describe.each([
  [400, badRequests(here)],
  [401, unauthorized(here)],
  [403, forbidden(here)],
  [404, notFounds(here)],
  [409, conflicts(here)],
  [410, gone(here)],
] as const)('%d', (status, cases) => {
  test.each(cases.map((one) => [one.row, one.why, one] as const))('%s: %s', async (_row, _why, one) => {
    const given = (await one.given?.()) ?? {}
    const [method = '', path = ''] = one.row.split(' ')
    const before = world.here.upstream.seen.length
    const answer = await one.by()(method, given.path ?? one.path ?? path, given.body ?? one.body, one.headers)
    expect(answer.status, answer.text).toBe(status)
    expectError(answer, one)
    expect(world.here.upstream.seen.length).toBe(before)
  })
})

/** An error body has `error`, our `message`, and what the specification names; nothing else. */
function expectError(answer: Answer, { error, extra = {} }: Pick<RefusalCase, 'error' | 'extra'>): void {
  expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
  expect(answer.headers.get('x-request-id')).toMatch(/^req_\w{10,}$/)
  expect(answer.headers.get('x-service-version')).toMatch(/^\d+\.\d+\.\d+$/)
  expect(answer.body).toEqual({ error, message: expect.stringMatching(/./), ...extra })
}

describe('429', () => {
  test('the 61st request of an agent within a minute, in exactly these words', async () => {
    const { call } = await world.here.world.agent()
    const answers = await Promise.all(Array.from({ length: 61 }, () => call('GET', '/api/v1/policies')))
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(1)
    const [{ headers, body }] = refused as [Answer]
    const wait = Number(headers.get('retry-after'))
    expect(wait).toBeGreaterThan(0)
    expect(wait).toBeLessThanOrEqual(60)
    expect(body).toEqual({ error: 'Rate limit exceeded', retry_after: wait })
    expect(headers.get('x-request-id')).toMatch(/^req_/)
  })
})

describe('503', () => {
  test('GET /api/health: a configured gateway that is not there', async () => {
    const settings = (gateway_url: string) =>
      world.by.admin('PUT', '/api/dashboard/settings', { settings: { gateway_url } })
    const silent: Server = createServer(() => undefined).listen(0, '127.0.0.1')
    await once(silent, 'listening')
    await settings(`http://127.0.0.1:${(silent.address() as AddressInfo).port}`)
    try {
      const answer = await world.by.nobody('GET', '/api/health')
      expect(answer.status).toBe(503)
      expect(answer.body).toEqual({
        status: 'degraded',
        timestamp: expect.any(String),
        checks: {
          database: { status: 'ok', latencyMs: expect.any(Number) },
          gateway: { status: 'error', latencyMs: expect.any(Number), error: 'Timeout' },
        },
      })
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    } finally {
      await settings('')
      silent.closeAllConnections()
      silent.close()
    }
  })

  test('POST /api/v1/actions/:id/execute: no gateway, and the token stays good', async () => {
    const action = await world.allowed()
    const { path, body } = on(action, '/execute')
    const isLive = async () =>
      at((await world.by.admin('GET', '/api/dashboard/gateway')).body, 'gateways', 0, 'live') !== null
    world.here.gateway.cut()
    await eventually('the gateway is gone', async () => ((await isLive()) ? null : true))
    const answer = await world.agent.call('POST', path, body)
    expect(answer.status).toBe(503)
    expectError(answer, { error: at(answer.body, 'error'), extra: extraOf(answer) })
    const read = await world.agent.call('GET', `/api/v1/actions/${action.id}`)
    expect(read.body).toMatchObject({ status: 'allowed', decision_token: action.token })
    world.here.gateway.mend()
    await eventually('the gateway is back', async () => ((await isLive()) ? true : null))
    expect((await world.agent.call('POST', path, body)).status).not.toBe(503)
  })
})

/** 503 says when to come back. */
function extraOf({ headers, body }: Answer): Record<string, unknown> {
  const retry = headers.get('retry-after')
  return retry === null ? {} : { retry_after: body['retry_after'] }
}

describe('a kill switch', () => {
  test('denies new actions with its reason, refuses execute and verify, and leaves the nonce alone', async () => {
    const action = await world.allowed()
    await world.agent.call('POST', '/api/v1/org/kill-switch', { active: true, reason: 'drill' })
    try {
      const { body } = await world.stranger.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
      expect(body).toMatchObject({ status: 'denied', decision: { outcome: 'deny' }, decision_token: null })
      expect(at(body, 'decision', 'reason')).toMatch(/^Kill switch active: drill/)
      const { path, body: token } = on(action, '/execute')
      const execute = await world.agent.call('POST', path, token)
      expect([execute.status, at<string>(execute.body, 'error').slice(0, 25)]).toEqual([
        403,
        'Kill switch active: drill',
      ])
      const verify = { decision_token: action.token, action_request_id: action.id }
      const verified = await world.by.nobody('POST', '/api/v1/tokens/verify', verify)
      expect(verified.status).toBe(200)
      expect(verified.body).toEqual({
        valid: false,
        error: expect.stringMatching(/^Kill switch active: drill/),
      })
    } finally {
      await world.agent.call('POST', '/api/v1/org/kill-switch', { active: false })
    }
    const verify = { decision_token: action.token, action_request_id: action.id }
    expect((await world.by.nobody('POST', '/api/v1/tokens/verify', verify)).body['valid']).toBe(true)
  })
})
