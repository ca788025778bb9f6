import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startPostgres, type TestDatabase } from '../../support/postgres.ts'
import { at, type Call, register, startControlPlane, type TestControlPlane } from './start.ts'

let postgres: Awaited<ReturnType<typeof startPostgres>>
let database: TestDatabase
let plane: TestControlPlane
let owner: Call

beforeAll(async () => {
  postgres = await startPostgres()
  database = await postgres.createDatabase()
  plane = await startControlPlane(database)
  await register(plane.call, 'owner@example.com')
  owner = await plane.signIn('owner@example.com')
}, 60_000)
afterAll(async () => {
  await plane?.close()
  await postgres?.stop()
}, 30_000)

const setGatewayUrl = (url: string) =>
  owner('PUT', '/api/dashboard/settings', { settings: { gateway_url: url } })

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
    checks: { database: { status: 'ok' }, gateway: { status: 'error', error: 'Unreachable' } },
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
  await setGatewayUrl('')
})

test('a gateway with a token that is not connected is missed', async () => {
  const made = await owner('POST', '/api/dashboard/gateway', {
    gateway: { name: 'away', host: '127.0.0.1', port: 9443, enforcementLevel: 'full_enforce' },
    connectors: [],
  })
  expect(made.text).toContain('gateway_token')
  const { status, body } = await plane.call('GET', '/api/health')
  expect(status).toBe(503)
  expect(at(body, 'checks', 'gateway', 'error')).toBe('No gateway is connected')
})
