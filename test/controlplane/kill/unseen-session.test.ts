import pg from 'pg'
import { expect, test } from 'vitest'
import { startTestInstallation } from '../routes/installation.ts'
import { PASSWORD, register } from '../routes/start.ts'

/** A user who signed in at one replica, and whose next request reaches another one, which has never seen them. */
test('a signed-in user activates a kill switch through a replica that never saw the session while sessions cannot be read', async () => {
  await using here = await startTestInstallation()
  await register(here.plane.call, 'owner@example.com')
  const { headers } = await here.plane.call('POST', '/api/auth/login', {
    email: 'owner@example.com',
    password: PASSWORD,
  })
  const cookie = headers.get('set-cookie')?.split(';')[0] ?? ''
  const other = await here.another()
  const locker = new pg.Client({ connectionString: here.database.adminUrl })
  await locker.connect()
  try {
    await locker.query('begin; lock table sessions in access exclusive mode')
    const reply = await other.call(
      'POST',
      '/api/dashboard/kill-switch',
      { active: true, reason: 'x' },
      { cookie },
    )
    expect([reply.status, reply.text]).toEqual([200, expect.stringContaining('"active":true')])
    const forged = await other.call(
      'POST',
      '/api/dashboard/kill-switch',
      { active: true, reason: 'x' },
      { cookie: `${cookie}x` },
    )
    expect(forged.status).toBe(503)
    await locker.query('rollback')
    expect((await other.call('GET', '/api/auth/me', undefined, { cookie })).status).toBe(200)
  } finally {
    await locker.end()
  }
})
