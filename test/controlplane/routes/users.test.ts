import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import {
  at,
  type Call,
  caller,
  PASSWORD,
  register,
  startControlPlane,
  type TestControlPlane,
} from './start.ts'

let server: TestPostgres
let database: TestDatabase
let plane: TestControlPlane
let owner: Call

beforeAll(async () => {
  server = await workerPostgres()
  database = await server.createMigratedDatabase()
  plane = await startControlPlane(database)
})

afterAll(async () => {
  await plane?.close()
  await server?.stop()
})

describe('registration', () => {
  test('of 50 users at once makes exactly one owner', async () => {
    expect(await plane.makeOwnerLink()).toMatch(/\/setup\?token=[\w-]{43}$/)
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_, n) => register(plane.call, `person${n}@example.com`)),
    )
    expect(answers.map((answer) => answer.status)).toEqual(Array(50).fill(200))
    const owners = answers.filter((answer) => at(answer.body, 'user', 'role') === 'owner')
    expect(owners).toHaveLength(1)
    expect(answers.filter((answer) => at(answer.body, 'user', 'role') === 'viewer')).toHaveLength(49)
    owner = await plane.signIn(at(owners[0]?.body, 'user', 'email'))
  }, 180_000)

  test('refuses a short password, a bad address and unknown fields by name', async () => {
    const answer = await plane.call('POST', '/api/auth/register', {
      email: 'x',
      password: 'short',
      nmae: 'A',
    })
    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({
      error: 'Validation failed',
      details:
        'email: is not an e-mail address; password: must have at least 12 characters; name: is required; nmae: is not a known field; did you mean name?',
    })
  })

  test('of an address that has an account, in whatever case, is a conflict', async () => {
    expect((await register(plane.call, 'PERSON1@example.com')).status).toBe(409)
  }, 180_000)

  test('needs the link where others can reach the address, and the link works once', async () => {
    const fresh = await server.createMigratedDatabase()
    const open = await startControlPlane(fresh, { HOST: '0.0.0.0' })
    expect(await register(open.call, 'thief@example.com')).toMatchObject({
      status: 403,
      body: { error: 'Registration is by invitation' },
    })
    expect((await register(open.call, 'thief@example.com', { setup_token: 'guess' })).status).toBe(403)
    const token = new URL((await open.makeOwnerLink()) ?? '').searchParams.get('token')
    const first = await register(open.call, 'first@example.com', { setup_token: token })
    expect(first.body).toMatchObject({ ok: true, user: { role: 'owner' } })
    expect((await register(open.call, 'second@example.com', { setup_token: token })).status).toBe(403)
    await open.close()
    const again = await startControlPlane(fresh, { HOST: '0.0.0.0' })
    expect(await again.makeOwnerLink()).toBeNull()
    await again.close()
  })

  test('by invitation gives the invited role, to the invited address, once', async () => {
    const { body } = await owner('POST', '/api/dashboard/users', {
      action: 'invite',
      email: 'new@example.com',
      role: 'member',
    })
    const invite = { invite_token: new URL(at(body, 'invite_link')).searchParams.get('invite') }
    expect((await register(plane.call, 'other@example.com', invite)).status).toBe(403)
    expect((await register(plane.call, 'new@example.com', invite)).body).toMatchObject({
      user: { role: 'member' },
    })
    expect((await register(plane.call, 'new2@example.com', invite)).status).toBe(403)
  })
})

describe('signing in', () => {
  test('answers a wrong password and an unknown address alike', async () => {
    const wrong = await plane.call('POST', '/api/auth/login', {
      email: 'person2@example.com',
      password: 'not the password',
    })
    const unknown = await plane.call('POST', '/api/auth/login', {
      email: 'nobody@example.com',
      password: 'not the password',
    })
    expect(wrong.status).toBe(401)
    expect(unknown.status).toBe(401)
    expect(wrong.text).toBe(unknown.text)
  })

  test('slows down whoever guesses, the right password included, and nobody else', async () => {
    const attempt = (password: string) =>
      plane.call('POST', '/api/auth/login', { email: 'person3@example.com', password })
    const answers = await Promise.all(Array.from({ length: 12 }, (_, n) => attempt(`wrong guess ${n}`)))
    expect(answers.filter((answer) => answer.status === 401).length).toBe(5)
    const slowed = answers.find((answer) => answer.status === 429)
    expect(slowed?.body).toMatchObject({ error: 'Rate limit exceeded', retry_after: 1 })
    expect(slowed?.headers.get('retry-after')).toBe('1')
    // A second is soon over on a busy machine.
    await asAdmin("update sign_in_failures set last_at = now() + interval '1 minute' where failures >= 5")
    expect((await attempt(PASSWORD)).status).toBe(429)
    await expect(plane.signIn('person4@example.com')).resolves.toBeDefined()
  })

  test('sets a cookie that scripts cannot read and that ends with logout', async () => {
    const answer = await plane.call('POST', '/api/auth/login', {
      email: 'person5@example.com',
      password: PASSWORD,
    })
    expect(answer.headers.getSetCookie()[0]).toMatch(
      /^svc_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/,
    )
    const user = await plane.signIn('person5@example.com')
    expect((await user('GET', '/api/auth/me')).body).toMatchObject({
      user: { email: 'person5@example.com', role: 'viewer' },
    })
    expect((await user('POST', '/api/auth/logout')).status).toBe(200)
    expect((await user('GET', '/api/auth/me')).status).toBe(401)
  })

  test('ends after 12 idle hours and after 7 days, by the database clock', async () => {
    const idle = await plane.signIn('person6@example.com')
    const old = await plane.signIn('person7@example.com')
    const sessionsOf = (n: number) =>
      `user_id = (select id from users where email = 'person${n}@example.com')`
    await asAdmin(`update sessions set seen_at = now() - interval '12 hours 1 s' where ${sessionsOf(6)}`)
    await asAdmin(`update sessions set expires_at = now() - interval '1 s' where ${sessionsOf(7)}`)
    expect((await idle('GET', '/api/auth/me')).status).toBe(401)
    expect((await old('GET', '/api/auth/me')).status).toBe(401)
  })

  test('stores neither session ids nor passwords in clear', async () => {
    const answer = await plane.call('POST', '/api/auth/login', {
      email: 'person8@example.com',
      password: PASSWORD,
    })
    const id = answer.headers.get('set-cookie')?.split(';')[0]?.split('=')[1] ?? 'none'
    const dump = await dumpOf(['users', 'sessions', 'audit_events', 'sign_in_failures'])
    expect(dump).toContain('person8@example.com')
    expect(dump).not.toContain(id)
    expect(dump).not.toContain(PASSWORD)
    expect(plane.log()).not.toContain(PASSWORD)
    expect(plane.log()).not.toContain(id)
  })
})

describe('a new password', () => {
  const path = '/api/auth/password'
  const NEXT = 'another battery horse'
  const login = (email: string, password: string) =>
    plane.call('POST', '/api/auth/login', { email, password })
  const sessionsOf = async (email: string) =>
    (await asAdmin(`select 1 from sessions s join users u on u.id = s.user_id where u.email = '${email}'`))
      .rows.length

  test('is set by whoever knows the old one: every session ends, and this one goes on as a new one', async () => {
    const email = 'person20@example.com'
    const [here, elsewhere] = [await plane.signIn(email), await plane.signIn(email)]
    const last = (await asAdmin('select max(id) as id from audit_events')).rows[0]?.id
    const answer = await here('POST', path, { current_password: PASSWORD, new_password: NEXT })
    expect([answer.status, answer.body]).toEqual([200, { ok: true }])
    const cookie = answer.headers.get('set-cookie') ?? ''
    expect(cookie).toMatch(/^svc_session=[\w-]{43}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax$/)
    for (const call of [here, elsewhere]) expect((await call('GET', '/api/auth/me')).status).toBe(401)
    const again = caller(plane.url, { cookie: cookie.split(';')[0] ?? '' })
    expect((await again('GET', '/api/auth/me')).body).toMatchObject({ user: { email } })
    expect(await sessionsOf(email)).toBe(1)
    expect((await login(email, PASSWORD)).status).toBe(401)
    expect((await login(email, NEXT)).status).toBe(200)
    const { rows } = await asAdmin(
      `select event_type, user_id, details from audit_events where id > ${last} and event_type not like 'user.login%'`,
    )
    expect(rows).toEqual([
      { event_type: 'user.password_changed', user_id: expect.stringMatching(/^usr_/), details: { email } },
    ])
    const dump = await dumpOf(['users', 'sessions', 'audit_events'])
    for (const secret of [NEXT, cookie.slice(12, 55)]) expect(dump + plane.log()).not.toContain(secret)
  })

  test.each([
    [
      { current_password: 'not the password', new_password: NEXT },
      'current_password: does not match your password',
    ],
    [{ current_password: PASSWORD, new_password: 'short' }, 'new_password: must have at least 12 characters'],
    [
      { current_password: PASSWORD, new_password: PASSWORD },
      'new_password: must differ from your current password',
    ],
    [{ new_password: NEXT }, 'current_password: is required'],
  ])('is refused for %j, and nothing changes', async (body, details) => {
    const user = await plane.signIn('person21@example.com')
    const answer = await user('POST', path, body)
    expect(answer.status).toBe(400)
    expect(answer.body).toEqual({ error: 'Validation failed', details, message: details })
    expect((await user('GET', '/api/auth/me')).status).toBe(200)
    expect((await login('person21@example.com', PASSWORD)).status).toBe(200)
  })

  test('cannot be had by guessing the old one with a session that was left open', async () => {
    const email = 'person22@example.com'
    const user = await plane.signIn(email)
    const guess = (current_password: string) => user('POST', path, { current_password, new_password: NEXT })
    const guesses = (length: number) =>
      Promise.all(Array.from({ length }, (_, n) => guess(`wrong guess ${n}`)))
    expect((await guesses(5)).map(({ status }) => status)).toEqual(Array(5).fill(400))
    // The wait after five is one second, which a busy machine needs for the next guesses.
    await asAdmin(`update sign_in_failures set last_at = now() + interval '1 minute' where failures = 5`)
    expect((await guesses(7)).map(({ status }) => status)).toEqual(Array(7).fill(429))
    expect((await guess(PASSWORD)).status).toBe(429)
    const { rows } = await asAdmin(
      `select 1 from audit_events where event_type = 'user.login_failed' and details->>'email' = '${email}'`,
    )
    expect(rows).toHaveLength(5)
  })

  test('of two that are set at once one counts, and there is one session', async () => {
    const email = 'person23@example.com'
    const user = await plane.signIn(email)
    const wanted = [`${NEXT} 1`, `${NEXT} 2`]
    const answers = await Promise.all(
      wanted.map((new_password) => user('POST', path, { current_password: PASSWORD, new_password })),
    )
    // Whoever comes second finds another password there, or his session gone.
    expect(answers.map(({ status }) => status).toSorted()[0]).toBe(200)
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
    expect(await sessionsOf(email)).toBe(1)
    const good = await Promise.all(wanted.map((password) => login(email, password)))
    expect(good.map(({ status }) => status)).toEqual(
      answers.map(({ status }) => (status === 200 ? 200 : 401)),
    )
  })

  test('takes a session, and a page of ours where there is a browser', async () => {
    const body = { current_password: PASSWORD, new_password: NEXT }
    expect((await plane.call('POST', path, body)).status).toBe(401)
    expect((await owner('POST', path, body, { origin: 'https://evil.example' })).status).toBe(403)
  })
})

describe('roles', () => {
  test('below the minimum of a route get an error with the role that it needs', async () => {
    const viewer = await plane.signIn('person9@example.com')
    expect(await viewer('GET', '/api/dashboard/agents')).toMatchObject({
      status: 403,
      body: { error: 'Forbidden', required_role: 'admin', your_role: 'viewer' },
    })
    expect((await viewer('GET', '/api/dashboard/traffic')).status).toBe(200)
  })

  test.each([
    ['GET', '/api/dashboard/gateway'],
    ['POST', '/api/dashboard/gateway'],
    ['PATCH', '/api/dashboard/agents'],
    ['POST', '/api/dashboard/setup'],
    ['GET', '/api/dashboard/policies'],
    ['GET', '/api/dashboard/traffic'],
    ['GET', '/api/dashboard/settings'],
    ['POST', '/api/dashboard/users'],
    ['GET', '/api/auth/me'],
  ])('%s %s is 401 without a session', async (method, path) => {
    expect((await plane.call(method, path)).status).toBe(401)
    const forged = caller(plane.url, { cookie: 'svc_session=forged' })
    expect((await forged(method, path)).status).toBe(401)
    const bearer = caller(plane.url, { authorization: 'Bearer forged' })
    expect((await bearer(method, path)).status).toBe(401)
  })

  test('change with the guards that keep an owner, and end the sessions of the changed users', async () => {
    const { body } = await owner('GET', '/api/dashboard/users')
    const users = at<{ id: string; email: string; role: string }[]>(body, 'users')
    const idOf = (email: string) => users.find((user) => user.email === email)?.id
    const ownerId = users.find((user) => user.role === 'owner')?.id
    const change = (by: Call, user_id: unknown, role: string) =>
      by('POST', '/api/dashboard/users', { action: 'change_role', user_id, role })

    const before = await plane.signIn('person10@example.com')
    expect(await change(owner, idOf('person10@example.com'), 'admin')).toMatchObject({
      status: 200,
      body: { ok: true, role: 'admin' },
    })
    expect((await before('GET', '/api/auth/me')).status).toBe(401)
    const admin = await plane.signIn('person10@example.com')

    expect((await change(admin, idOf('person11@example.com'), 'owner')).status).toBe(403)
    expect((await change(admin, ownerId, 'viewer')).status).toBe(403)
    expect((await change(owner, ownerId, 'admin')).status).toBe(403)
    expect(
      (await owner('POST', '/api/dashboard/users', { action: 'suspend', user_id: ownerId })).status,
    ).toBe(403)
    expect((await change(owner, 'usr_nobody', 'admin')).status).toBe(404)
    expect((await change(owner, ownerId, 'emperor')).status).toBe(400)

    const victim = await plane.signIn('person11@example.com')
    expect(
      (
        await admin('POST', '/api/dashboard/users', {
          action: 'suspend',
          user_id: idOf('person11@example.com'),
        })
      ).status,
    ).toBe(200)
    expect((await victim('GET', '/api/auth/me')).status).toBe(401)
    await expect(plane.signIn('person11@example.com')).rejects.toThrow(/no session/)
    await admin('POST', '/api/dashboard/users', { action: 'activate', user_id: idOf('person11@example.com') })
    await expect(plane.signIn('person11@example.com')).resolves.toBeDefined()
    expect(await eventTypes()).toEqual(
      expect.arrayContaining([
        'user.role_changed',
        'user.suspended',
        'user.activated',
        'user.login',
        'user.login_failed',
      ]),
    )
  })
})

describe('a write with the session cookie', () => {
  const attempt = (headers: Record<string, string>) =>
    owner('POST', '/api/dashboard/users', { action: 'activate', user_id: 'usr_x' }, headers)

  test.each([
    [{ origin: 'https://evil.example' }],
    [{ origin: 'null' }],
    [{ 'sec-fetch-site': 'cross-site' }],
    [{ 'sec-fetch-site': 'same-site' }],
    [{ referer: 'https://evil.example/page' }],
  ])('from another site (%o) is refused', async (headers) => {
    expect(await attempt(headers as Record<string, string>)).toMatchObject({
      status: 403,
      body: { error: 'Forbidden' },
    })
  })

  test('from our own page, or from no browser, is accepted', async () => {
    for (const headers of [
      {},
      { origin: plane.url },
      { 'sec-fetch-site': 'same-origin' },
      { referer: `${plane.url}/x` },
    ]) {
      expect((await attempt(headers as Record<string, string>)).status).toBe(404)
    }
  })
})

async function asAdmin(text: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: database.adminUrl })
  await client.connect()
  try {
    return await client.query(text)
  } finally {
    await client.end()
  }
}

async function dumpOf(tables: readonly string[]): Promise<string> {
  const results = await Promise.all(
    tables.map((table) => asAdmin(`select row_to_json(t)::text as row from ${table} t`)),
  )
  return results.flatMap((result) => result.rows.map((row) => row.row as string)).join('\n')
}

async function eventTypes(): Promise<string[]> {
  return (await asAdmin('select distinct event_type from audit_events')).rows.map(
    (row) => row.event_type as string,
  )
}
