import { Client } from 'pg'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createPasswords } from '../../../controlplane/crypto/password.ts'
import { openDb } from '../../../controlplane/db/open.ts'
import { getOrg } from '../../../controlplane/db/orgs.ts'
import { resetPassword } from '../../../controlplane/features/users/password-reset.ts'
import type { TestDatabase, TestPostgres } from '../../support/postgres.ts'
import { workerPostgres } from '../../support/worker-postgres.ts'
import { PASSWORD, register, startBehindProxy, startControlPlane, type TestControlPlane } from './start.ts'

let postgres: TestPostgres
const databases = new Map<TestControlPlane, TestDatabase>()
/** A control plane without settings for its proxy, so that every client has the address of the ingress. */
let blind: TestControlPlane
/** Clients have addresses of their own. */
let plane: TestControlPlane
const count = { of: 0 }

beforeAll(async () => {
  postgres = await workerPostgres()
  const start = async (startOn: (database: TestDatabase) => Promise<TestControlPlane>) => {
    const database = await postgres.createMigratedDatabase()
    const started = await startOn(database)
    databases.set(started, database)
    return started
  }
  blind = await start((database) => startControlPlane(database))
  plane = await start((database) => startBehindProxy(database, 'owner@example.test'))
})
afterAll(async () => {
  await blind?.close()
  await plane?.close()
  await postgres?.stop()
})

type From = { readonly at?: string; readonly cookie?: string }

async function asAdmin(of: TestControlPlane, sql: string): Promise<void> {
  const client = new Client({ connectionString: databases.get(of)?.adminUrl })
  await client.connect()
  await client.query(sql).finally(() => client.end())
}

/** The first wait is one second, which a busy machine needs for the next attempt: every wait is made long. */
async function signIn(of: TestControlPlane, email: string, password: string, { at, cookie }: From = {}) {
  await asAdmin(of, "update sign_in_failures set last_at = now() + interval '1 minute' where failures >= 5")
  return of.call(
    'POST',
    '/api/auth/login',
    { email, password },
    { ...(at === undefined ? {} : { 'x-forwarded-for': at }), ...(cookie === undefined ? {} : { cookie }) },
  )
}

/** As if there had been so many guesses: at an account from everywhere, or from one address at all accounts. */
function guessed(of: TestControlPlane, what: string, failures: number): Promise<void> {
  return asAdmin(
    of,
    `update sign_in_failures set failures = ${failures} where key_sha256 = sha256(convert_to('${what}', 'UTF8'))`,
  )
}

/** A user, and the cookies that a browser keeps after signing in, but for the session. */
async function signedIn(of: TestControlPlane, at?: string) {
  const email = `user${++count.of}@example.test`
  expect((await register(of.call, email)).status).toBe(200)
  const answer = await signIn(of, email, PASSWORD, at === undefined ? {} : { at })
  expect(answer.status).toBe(200)
  const cookie = cookiesOf(answer.headers)
  return { email, cookie }
}

function cookiesOf(headers: Headers): string {
  return headers
    .getSetCookie()
    .map((text) => text.split(';')[0] ?? '')
    .filter((pair) => !pair.startsWith('svc_session='))
    .join('; ')
}

/** Guesses until the client has to wait; how many passwords were verified. */
async function guess(of: TestControlPlane, email: string, client: From = {}): Promise<number> {
  for (let n = 0; n < 20; n++) if ((await signIn(of, email, `guess ${n}`, client)).status === 429) return n
  throw new Error('no guess was refused')
}

/** Guesses from ever new addresses until nobody new may try. */
async function guessFromEverywhere(email: string): Promise<void> {
  expect((await signIn(plane, email, 'guess', { at: '198.51.100.1' })).status).toBe(401)
  await guessed(plane, email, 99)
  expect((await signIn(plane, email, 'guess', { at: '198.51.100.2' })).status).toBe(401)
  expect((await signIn(plane, email, 'guess', { at: '198.51.100.3' })).status).toBe(429)
}

describe('a stranger cannot lock an owner out', () => {
  test('from the same address: the device of the owner has a count of its own', async () => {
    const { email, cookie } = await signedIn(blind)
    expect(await guess(blind, email)).toBe(5)
    expect((await signIn(blind, email, PASSWORD)).status).toBe(429)
    expect((await signIn(blind, email, PASSWORD, { cookie })).status).toBe(200)
  })

  test('nor before the first sign-in: the device that registered is known', async () => {
    const email = `user${++count.of}@example.test`
    const cookie = cookiesOf((await register(blind.call, email)).headers)
    expect(await guess(blind, email)).toBe(5)
    expect((await signIn(blind, email, PASSWORD)).status).toBe(429)
    expect((await signIn(blind, email, PASSWORD, { cookie })).status).toBe(200)
  })

  test('from everywhere: an address that signed in before has a count of its own', async () => {
    const { email } = await signedIn(plane, '203.0.113.7')
    await guessFromEverywhere(email)
    expect((await signIn(plane, email, PASSWORD, { at: '203.0.113.99' })).status).toBe(429)
    expect((await signIn(plane, email, PASSWORD, { at: '203.0.113.7' })).status).toBe(200)
    // Its success gives strangers no new guesses.
    expect((await signIn(plane, email, 'guess', { at: '203.0.113.100' })).status).toBe(429)
  })

  test('nor keep a user who is signed in from changing the password', async () => {
    const { email } = await signedIn(blind)
    const user = await blind.signIn(email)
    await guess(blind, email)
    const change = { current_password: PASSWORD, new_password: 'another battery horse' }
    expect((await user('POST', '/api/auth/password', change)).status).toBe(200)
  })
})

test('refused registrations are counted by address, and hash no passwords beyond 100', async () => {
  const attempt = async (at: string, more: object = {}) =>
    plane.call(
      'POST',
      '/api/auth/register',
      { email: `user${++count.of}@example.test`, password: PASSWORD, name: 'X', ...more },
      { 'x-forwarded-for': at },
    )
  const [flood, honest] = ['192.0.2.66', '192.0.2.67']
  const invalid = { invite_token: 'void' }
  const first = await Promise.all(Array.from({ length: 100 }, () => attempt(flood, invalid)))
  expect(new Set(first.map(({ status }) => status))).toEqual(new Set([403]))
  // The first wait is one second, which a busy machine needs.
  await asAdmin(
    plane,
    "update sign_in_failures set last_at = now() + interval '1 minute' where failures >= 100",
  )
  const answer = await attempt(flood)
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
  // Neither other addresses nor sign-ins from this one are delayed.
  for (let n = 0; n < 3; n++) expect((await attempt(honest)).status).toBe(200)
  expect((await signIn(plane, 'owner@example.test', PASSWORD, { at: flood })).status).toBe(200)
})

test('registrations that succeed are not counted', async () => {
  const from = { 'x-forwarded-for': '192.0.2.68' }
  for (let n = 0; n < 120; n++) {
    const user = { email: `user${++count.of}@example.test`, password: PASSWORD, name: 'X' }
    expect((await plane.call('POST', '/api/auth/register', user, from)).status).toBe(200)
  }
})

describe('guessing stays slow', () => {
  test('on a known device, which then counts as any other', async () => {
    const { email, cookie } = await signedIn(plane, '203.0.113.8')
    expect(await guess(plane, email, { at: '203.0.113.8', cookie })).toBe(10)
    expect((await signIn(plane, email, PASSWORD, { at: '203.0.113.8', cookie })).status).toBe(429)
  })

  test('from a known address', async () => {
    const { email } = await signedIn(plane, '203.0.113.9')
    expect(await guess(plane, email, { at: '203.0.113.9' })).toBe(5)
  })

  test('over many accounts from one address', async () => {
    const guessOne = (n: number) => signIn(plane, `nobody${n}@example.test`, 'guess', { at: '203.0.113.10' })
    expect((await guessOne(1)).status).toBe(401)
    await guessed(plane, 'address\ncb00710a', 99)
    expect((await guessOne(2)).status).toBe(401)
    expect((await guessOne(3)).status).toBe(429)
  })

  test('from the addresses of one IPv6 network, which one client has', async () => {
    const { email } = await signedIn(plane, '2001:db8:9::1')
    const statuses = new Map<number, number>()
    for (let n = 1; n <= 8; n++) {
      const { status } = await signIn(plane, email, 'guess', { at: `2001:db8:7:7::${n.toString(16)}` })
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
    expect(Object.fromEntries(statuses)).toEqual({ 401: 5, 429: 3 })
    expect((await signIn(plane, email, 'guess', { at: '2001:db8:7:8::1' })).status).toBe(401)
  })

  test('in other spellings of the e-mail address', async () => {
    const { email } = await signedIn(plane, '203.0.113.11')
    const spelled = [email.toUpperCase(), email, email.replace('user', 'User'), email.replace('user', 'uSer')]
    let verified = 0
    for (let n = 0; n < 8; n++)
      if ((await signIn(plane, spelled[n % 4] ?? '', 'guess', { at: '203.0.113.12' })).status === 401)
        verified++
    expect(verified).toBe(5)
  })
})

describe('the cookie of a device', () => {
  test('is for the paths of sign-in, and scripts cannot read it', async () => {
    const { email } = await signedIn(plane, '203.0.113.13')
    const answer = await signIn(plane, email, PASSWORD, { at: '203.0.113.13' })
    expect(answer.headers.getSetCookie()).toEqual([
      expect.stringMatching(/^svc_session=/),
      expect.stringMatching(
        /^svc_device_[0-9a-f]{16}=\d+\.[\w-]{43}\.[\w-]{43}; Path=\/api\/auth; Max-Age=15552000; HttpOnly; SameSite=Strict$/,
      ),
    ])
  })

  const FORGED: ReadonlyArray<readonly [string, (own: string, others: string) => string]> = [
    ['of another account', (_own, others) => others],
    ['of another account under the name of this one', (own, others) => `${nameOf(own)}=${proofOf(others)}`],
    ['with another id', (own) => own.replace(/\.[\w-]{43}\./, `.${'A'.repeat(43)}.`)],
    ['with a later time', (own) => own.replace(/=\d+\./, '=99999999999.')],
    ['without a signature', (own) => own.replace(/\.[\w-]{43}$/, '.')],
    ['with an empty signature', (own) => own.replace(/\.[\w-]{43}$/, `.${'A'.repeat(43)}`)],
    ['with a longer signature', (own) => `${own}AA`],
    ['that is empty', (own) => `${nameOf(own)}=`],
    ['that is a session', (own) => `${nameOf(own)}=svc_session`],
  ]
  test.each(FORGED)('%s counts for nothing', async (_what, forge) => {
    const own = await signedIn(plane, '203.0.113.14')
    const other = await signedIn(plane, '203.0.113.15')
    const client = { at: `203.0.114.${count.of}`, cookie: forge(own.cookie, other.cookie) }
    expect(await guess(plane, own.email, client)).toBe(5)
    expect((await signIn(plane, own.email, PASSWORD, client)).status).toBe(429)
  })

  test('counts beside one that another program of the host has planted', async () => {
    const { email, cookie } = await signedIn(blind)
    await guess(blind, email)
    const planted = `${nameOf(cookie)}=planted; ${cookie}; svc_device_x=1.${'A'.repeat(43)}.${'B'.repeat(43)}`
    expect((await signIn(blind, email, PASSWORD, { cookie: planted })).status).toBe(200)
  })

  test.each<readonly [string, (own: string) => string]>([
    ['16 others', (own) => [...fill(16, (n) => `svc_device_${n}=x`), own].join('; ')],
    [
      '170 others of its form',
      (own) => [...fill(170, (n) => `svc_device_${n}=${proofOf(own)}`), own].join('; '),
    ],
    [
      'others of its name',
      (own) => [...fill(170, () => `${nameOf(own)}=${'x'.repeat(100)}`), own].join('; '),
    ],
  ])('counts after %s', async (_what, join) => {
    const { email, cookie } = await signedIn(blind)
    await guess(blind, email)
    expect((await signIn(blind, email, PASSWORD, { cookie: join(cookie) })).status).toBe(200)
  })

  test('starts no session', async () => {
    const { email, cookie } = await signedIn(plane, '203.0.113.16')
    expect((await signIn(plane, email, 'wrong', { at: '203.0.113.16', cookie })).status).toBe(401)
    expect((await plane.call('GET', '/api/auth/me', undefined, { cookie })).status).toBe(401)
  })
})

describe('the counts', () => {
  const rowsOf = async (of: TestControlPlane) => {
    const client = new Client({ connectionString: databases.get(of)?.adminUrl })
    await client.connect()
    const { rows } = await client
      .query('select count(*)::int as n from sign_in_failures')
      .finally(() => client.end())
    return rows[0].n as number
  }

  test('of one address stop before each named account has a row', async () => {
    const at = '203.0.113.77'
    const guessOne = (n: number) => signIn(plane, `random${n}@example.test`, 'guess', { at })
    expect((await guessOne(0)).status).toBe(401)
    await guessed(plane, 'address\ncb00714d', 100)
    const before = await rowsOf(plane)
    for (let n = 1; n <= 20; n++) expect((await guessOne(n)).status).toBe(429)
    expect(await rowsOf(plane)).toBe(before)
  })

  test('of one address are not used up by waiting for one account', async () => {
    const at = '203.0.113.78'
    for (let n = 0; n < 120; n++)
      await plane.call(
        'POST',
        '/api/auth/login',
        { email: 'one@example.test', password: 'x' },
        { 'x-forwarded-for': at },
      )
    expect((await signIn(plane, 'two@example.test', 'guess', { at })).status).toBe(401)
  })

  test('of an account end when its password is reset on the machine, and those of others do not', async () => {
    const [mine, other] = [await signedIn(blind), await signedIn(blind)]
    for (const { email, cookie } of [mine, other]) {
      await guess(blind, email)
      await guess(blind, email, { cookie })
      await guessed(blind, email, 200)
    }
    const db = await openDb({ url: databases.get(blind)?.url ?? '', log: pino({ level: 'silent' }), max: 1 })
    const password = 'an entirely new password'
    const { id: orgId } = await getOrg(db)
    await resetPassword(
      { db, orgId, passwords: createPasswords() },
      { email: mine.email.toUpperCase(), password },
    )
    await db.close()
    expect((await signIn(blind, mine.email, password)).status).toBe(200)
    expect((await signIn(blind, other.email, PASSWORD)).status).toBe(429)
    expect((await signIn(blind, other.email, PASSWORD, { cookie: other.cookie })).status).toBe(429)
  })

  test('over all accounts from this machine end with it, too', async () => {
    const email = `user${++count.of}@example.test`
    expect((await register(blind.call, email)).status).toBe(200)
    expect((await signIn(blind, 'nobody@example.test', 'guess')).status).toBe(401)
    await guessed(blind, 'address\n7f000001', 300)
    expect((await signIn(blind, email, PASSWORD)).status).toBe(429)
    const db = await openDb({ url: databases.get(blind)?.url ?? '', log: pino({ level: 'silent' }), max: 1 })
    const { id: orgId } = await getOrg(db)
    await resetPassword({ db, orgId, passwords: createPasswords() }, { email, password: PASSWORD })
    await db.close()
    expect((await signIn(blind, email, PASSWORD)).status).toBe(200)
  })
})

const fill = (length: number, make: (n: number) => string) => Array.from({ length }, (_, n) => make(n))
const nameOf = (cookie: string) => cookie.split('=')[0] ?? ''
const proofOf = (cookie: string) => cookie.slice(cookie.indexOf('=') + 1)
