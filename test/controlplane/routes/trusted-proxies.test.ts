import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { PASSWORD, register, startBehindProxy, startControlPlane, type TestControlPlane } from './start.ts'

let postgres: TestPostgres
/** Behind a proxy at 127.0.0.1, and without one. */
let behind: TestControlPlane
let direct: TestControlPlane
const EMAIL = 'owner@example.test'

beforeAll(async () => {
  postgres = await workerPostgres()
  behind = await startBehindProxy(await postgres.createMigratedDatabase(), EMAIL)
  direct = await startControlPlane(await postgres.createMigratedDatabase())
  expect((await register(direct.call, EMAIL)).status).toBe(200)
})
afterAll(async () => {
  await behind?.close()
  await direct?.close()
  await postgres?.stop()
})

function signIn(plane: TestControlPlane, password: string, forwardedFor?: string) {
  const headers = forwardedFor === undefined ? {} : { 'x-forwarded-for': forwardedFor }
  return plane.call('POST', '/api/auth/login', { email: EMAIL, password }, headers)
}

/** Wrong passwords until the address has to wait. */
async function exhaust(plane: TestControlPlane, forwardedFor?: string): Promise<void> {
  for (let n = 0; n < 12; n++) if ((await signIn(plane, 'wrong', forwardedFor)).status === 429) return
  throw new Error('no attempt was refused')
}

describe('sign-ins behind a proxy', () => {
  test('are counted by the address that the trusted proxy names', async () => {
    await exhaust(behind, '198.51.100.7')
    expect((await signIn(behind, PASSWORD, '198.51.100.7')).status).toBe(429)
    expect((await signIn(behind, PASSWORD, '203.0.113.5')).status).toBe(200)
  })

  test('ignore what the client itself put before the address', async () => {
    await exhaust(behind, '192.0.2.1, 198.51.100.8')
    // Another claim, the same client, through two trusted proxies.
    expect((await signIn(behind, PASSWORD, '192.0.2.99, 198.51.100.8, 10.1.2.3')).status).toBe(429)
    expect((await signIn(behind, PASSWORD, '192.0.2.1')).status).toBe(200)
  })

  test('believe no X-Forwarded-For where no proxy is trusted', async () => {
    await exhaust(direct, '198.51.100.7')
    expect((await signIn(direct, PASSWORD, '203.0.113.5')).status).toBe(429)
  })
})
