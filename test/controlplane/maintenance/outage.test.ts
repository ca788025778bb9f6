import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startPostgres, type TestDatabase, type TestPostgres } from '../../support/postgres.ts'
import {
  at,
  type Call,
  caller,
  PASSWORD,
  register,
  startControlPlane,
  type TestControlPlane,
} from '../routes/start.ts'
import { ALLOWED, bearer } from '../v1/world.ts'

let server: TestPostgres
let database: TestDatabase
let plane: TestControlPlane
let agent: Call
let owner: Call
let issued: Record<string, unknown>

beforeAll(async () => {
  server = await startPostgres()
  database = await server.createDatabase()
  plane = await startControlPlane(database)
  await register(plane.call, 'owner@example.com')
  owner = await plane.signIn('owner@example.com')
  const made = await owner('POST', '/api/dashboard/agents', {
    ...{ name: 'one', runtime: 'x', environment: 'development' },
  })
  agent = caller(plane.url, bearer(at(made.body, 'api_key')))
  const { body } = await agent('POST', '/api/v1/actions', { action_spec: ALLOWED })
  issued = { decision_token: body['decision_token'], action_request_id: body['action_request_id'] }
  expect((await plane.call('GET', '/readyz')).status).toBe(200)
  await server.stop()
})
afterAll(() => plane?.close())

describe('while the database is away', () => {
  test('the process lives, is not ready, and its health names the part that is missing', async () => {
    expect((await plane.call('GET', '/livez')).status).toBe(200)
    const ready = await plane.call('GET', '/readyz')
    expect([ready.status, ready.body]).toEqual([503, { status: 'not_ready' }])
    const { status, body } = await plane.call('GET', '/api/health')
    expect(status).toBe(503)
    expect(body).toMatchObject({
      status: 'degraded',
      checks: { database: { status: 'error', error: expect.stringMatching(/^(unavailable|Timeout)$/) } },
    })
    // Messages of the driver name hosts and roles.
    expect(JSON.stringify(body)).not.toContain(new URL(database.url).username)
  })

  test.each([
    ['POST', '/api/v1/actions', () => agent, { action_spec: ALLOWED }],
    ['POST', '/api/v1/actions/batch', () => agent, { actions: [{ action_spec: ALLOWED }] }],
    ['GET', '/api/v1/actions/act_x', () => agent, undefined],
    ['GET', '/api/v1/audit/events', () => agent, undefined],
    ['POST', '/api/v1/tokens/verify', () => plane.call, () => issued],
    ['POST', '/api/auth/login', () => plane.call, { email: 'owner@example.com', password: PASSWORD }],
    ['GET', '/api/dashboard/agents', () => owner, undefined],
    ['POST', '/api/dashboard/proxy-approvals', () => owner, { id: 'apr_x', approved: true }],
  ] as const)(
    '%s %s is a 503 that says so and when to come back, and nothing is said to be done',
    async (method, path, who, given) => {
      const answer = await who()(method, path, typeof given === 'function' ? given() : given)
      expect(answer.status, answer.text).toBe(503)
      expect(answer.body).toEqual({
        error: 'Database unavailable',
        message: expect.stringContaining('Send the request again in a moment.'),
        retry_after: 1,
      })
      expect(answer.headers.get('retry-after')).toBe('1')
      expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
      expect(answer.headers.get('x-service-version')).toMatch(/^\d+\.\d+\.\d+$/)
    },
  )
})
