import { createServer as createHttpServer, type ServerResponse } from 'node:http'
import { createServer } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import type { TestDatabase } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { at, type Call, register, startControlPlane, type TestControlPlane } from './start.ts'

let postgres: Awaited<ReturnType<typeof workerPostgres>>
let database: TestDatabase
let plane: TestControlPlane
let owner: Call

beforeAll(async () => {
  postgres = await workerPostgres()
  database = await postgres.createMigratedDatabase()
  plane = await startControlPlane(database)
  await register(plane.call, 'owner@example.com')
  owner = await plane.signIn('owner@example.com')
})
afterAll(async () => {
  await plane?.close()
  await postgres?.stop()
})

const setGatewayUrl = (url: string) =>
  owner('PUT', '/api/dashboard/settings', { settings: { gateway_url: url } })
afterEach(() => setGatewayUrl(''))

test('is healthy with a database and without any gateway: policy-only use needs none', async () => {
  const { status, body } = await plane.call('GET', '/api/health')
  expect(status).toBe(200)
  expect(body).toMatchObject({
    status: 'healthy',
    checks: { database: { status: 'ok' }, gateway: { status: 'ok' } },
  })
  expect(typeof at(body, 'checks', 'database', 'latencyMs')).toBe('number')
  expect(new Date(at(body, 'timestamp')).getTime()).toBeGreaterThan(0)
})

test('a configured address that refuses is degraded and 503, and says which check failed', async () => {
  await setGatewayUrl('http://127.0.0.1:9')
  const { status, body } = await plane.call('GET', '/api/health')
  expect(status).toBe(503)
  expect(body).toMatchObject({
    status: 'degraded',
    checks: { database: { status: 'ok' }, gateway: { status: 'error', error: 'unreachable' } },
  })
})

test('a configured address that never answers is a Timeout within about two seconds', async () => {
  const silent = createServer(() => undefined).listen(0, '127.0.0.1')
  await new Promise((resolve) => silent.once('listening', resolve))
  const address = silent.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  await setGatewayUrl(`http://127.0.0.1:${port}`)
  const { status, body } = await plane.call('GET', '/api/health')
  expect(status).toBe(503)
  expect(at(body, 'checks', 'gateway', 'error')).toBe('Timeout')
  silent.close()
})

test('concurrent unauthenticated callers share one check of the gateway', async () => {
  const waiting: ServerResponse[] = []
  let asked = 0
  const gateway = createHttpServer((_request, response) => {
    asked++
    waiting.push(response)
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => gateway.once('listening', resolve))
  const address = gateway.address()
  await setGatewayUrl(
    `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`,
  )
  const answers = Promise.all(Array.from({ length: 60 }, () => plane.call('GET', '/api/health')))
  // Most of the other calls arrive before these are answered. The check ends after 2 s.
  await Promise.all(Array.from({ length: 20 }, () => plane.call('GET', '/livez')))
  for (const response of waiting) response.end('{}')
  gateway.on('request', (_request, response) => response.end('{}'))
  expect(new Set((await answers).map(({ status }) => status))).toEqual(new Set([200]))
  expect(asked).toBeGreaterThan(0)
  expect(asked).toBeLessThan(10)
  const first = asked
  expect((await plane.call('GET', '/api/health')).status).toBe(200)
  expect(asked).toBe(first + 1)
  gateway.close()
})

test('an address with a user name or password in it, which every reader of the settings would see, is refused', async () => {
  for (const url of [
    'http://user:geheim@127.0.0.1:9443',
    'http://user@127.0.0.1:9443',
    'http://:geheim@127.0.0.1:9443',
  ]) {
    const answer = await setGatewayUrl(url)
    expect(answer.status, url).toBe(400)
    expect(answer.body['details']).toMatch(/^settings\.gateway_url: contains a user name or password/)
    const connector = {
      type: 'codehost',
      token: 'x',
      base_url: url.replace('http:', 'https:'),
      accessRule: 'read_only',
    }
    const agent = { name: 'a', runtime: 'b', environment: 'c' }
    const setup = await owner('POST', '/api/dashboard/setup', { agent, connectors: [connector] })
    expect(setup.status, setup.text).toBe(400)
    expect(setup.body['details']).toMatch(/^connectors\.0\.base_url: contains a user name or password/)
  }
})

test('a gateway with a token that is not connected is missed', async () => {
  const made = await owner('POST', '/api/dashboard/gateway', {
    gateway: { name: 'away', host: '127.0.0.1', port: 9443, enforcementLevel: 'full_enforce' },
    connectors: [],
  })
  expect(made.text).toContain('gateway_token')
  const { status, body } = await plane.call('GET', '/api/health')
  expect(status).toBe(503)
  expect(at(body, 'checks', 'gateway', 'error')).toBe('unavailable')
})
