import { createHash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { size } from '../../../support/proof.ts'
import { type Operation, readOperations } from '../../openapi/document.ts'
import { startTestInstallation, type TestInstallation } from '../../routes/installation.ts'
import { type Answer, at, caller, PASSWORD, register } from '../../routes/start.ts'

const SECRET = 'x-service-page-secret'
const OWNER = 'owner@example.com'
const MEMBER = 'member@example.com'

type PageSession = { readonly id: string; readonly cookie: string; readonly secret: string }

let here: TestInstallation
let writes: readonly Operation[]
let page: PageSession
let second: PageSession
let foreign: PageSession
let plain: string

beforeAll(async () => {
  here = await startTestInstallation()
  await register(here.plane.call, OWNER)
  const invited = await here.admin('POST', '/api/dashboard/users', {
    action: 'invite',
    email: MEMBER,
    role: 'member',
  })
  await register(here.plane.call, MEMBER, { invite_token: at(invited.body, 'invite_token') })
  ;[page, second, foreign] = await Promise.all([signIn(OWNER), signIn(OWNER), signIn(MEMBER)])
  plain = cookieOf(await login(OWNER))
  writes = (await readOperations(here.plane.call)).filter(
    ({ method, security }) => method !== 'GET' && security.includes('session'),
  )
})
afterAll(() => here?.[Symbol.asyncDispose]())

function login(email: string, headers: Record<string, string> = {}): Promise<Answer> {
  return here.plane.call('POST', '/api/auth/login', { email, password: PASSWORD }, headers)
}

function cookieOf({ headers }: Answer): string {
  return headers.get('set-cookie')?.split(';')[0] ?? ''
}

async function signIn(email: string): Promise<PageSession> {
  const answer = await login(email, { 'sec-fetch-site': 'same-origin', origin: here.plane.url })
  const cookie = cookieOf(answer)
  return { cookie, id: cookie.slice('svc_session='.length), secret: at(answer.body, 'page_secret') }
}

function send({ method, path }: Operation, headers: Record<string, string>, body: unknown = {}) {
  return caller(here.plane.url, headers)(method, path.replaceAll(/\{\w+\}/g, 'nothing'), body)
}

async function events(): Promise<unknown> {
  return here.sql('select count(*)::int as events from audit_events')
}

test('the cookie of a page alone cannot read secrets', async () => {
  const path = '/api/dashboard/settings/webhook-secret'
  const read = (headers: Record<string, string>) => caller(here.plane.url, headers)('GET', path)
  const refused = await read({ cookie: page.cookie })
  expect([refused.status, at(refused.body, 'restriction')]).toEqual([403, 'page_secret'])
  expect((await read({ cookie: page.cookie, [SECRET]: foreign.secret })).status).toBe(403)
  expect((await read({ cookie: page.cookie, [SECRET]: page.secret })).status).toBe(200)
  expect((await read({ cookie: plain })).status).toBe(200)
})

test('as many cookies as a browser stores, set by a server on another port, lock no user out', async () => {
  const bomb = Array.from({ length: 180 }, (_, n) => `bomb${n}=${'x'.repeat(4_080)}`).join('; ')
  const cookie = `${bomb}; ${page.cookie}`
  const me = await caller(here.plane.url, { cookie })('GET', '/api/auth/me')
  expect(me.status).toBe(200)
  const signedIn = await login(OWNER, { cookie: bomb })
  expect(signedIn.status).toBe(200)
  const killSwitch = { active: true, scope: 'agent:nobody', reason: 'test' }
  const headers = { cookie, origin: here.plane.url, [SECRET]: page.secret }
  const answer = await caller(here.plane.url, headers)('POST', '/api/dashboard/kill-switch', killSwitch)
  expect(answer.status).toBe(200)
})

/** Each route gets all of `STOLEN` in the nightly run, and one of three by turns in `npm test`. */
const STOLEN_STEP = size(3, 1)
/** Headers that a server on another port, which received the cookie, can add. */
const STOLEN: readonly (readonly [string, () => Record<string, string>])[] = [
  ['nothing else', () => ({})],
  ['the own origin', () => ({ origin: here.plane.url })],
  ['the own origin and Sec-Fetch-Site', () => ({ origin: here.plane.url, 'sec-fetch-site': 'same-origin' })],
  ['the own referrer', () => ({ referer: `${here.plane.url}/` })],
  ['a wrong secret', () => ({ [SECRET]: 'x'.repeat(43) })],
  ['an empty secret', () => ({ [SECRET]: '' })],
  ['the secret of another session of the user', () => ({ [SECRET]: second.secret })],
  ['the secret of another user', () => ({ [SECRET]: foreign.secret })],
  ['the id of the session as secret', () => ({ [SECRET]: page.id })],
  ['the hash of the secret', () => ({ [SECRET]: createHash('sha256').update(page.secret).digest('hex') })],
  ['a cut secret', () => ({ [SECRET]: page.secret.slice(0, -1) })],
  ['the secret twice', () => ({ [SECRET]: `${page.secret}, ${page.secret}` })],
  ['the secret in another case', () => ({ [SECRET]: swapCase(page.secret) })],
  ['the secret as a cookie', () => ({ cookie: `${page.cookie}; ${SECRET}=${page.secret}` })],
  ['the secret under another name', () => ({ 'x-page-secret': page.secret, 'x-csrf-token': page.secret })],
  ['the method in another header', () => ({ 'x-http-method-override': 'GET' })],
  ['a planted cookie before it', () => ({ cookie: `svc_session=planted; ${page.cookie}` })],
  [
    'the cookie of another user with that secret missing',
    () => ({ cookie: `${foreign.cookie}; ${page.cookie}` }),
  ],
]

/** Requests that are refused even with the page secret. */
const FOREIGN_ORIGINS: readonly (readonly [string, Record<string, string>])[] = [
  ['no page', { 'sec-fetch-site': 'none' }],
  ['another port', { origin: 'http://127.0.0.1:9' }],
  ['another site', { origin: 'https://evil.example' }],
  ['no origin at all', { origin: 'null' }],
  ['another port of the host by Sec-Fetch-Site', { 'sec-fetch-site': 'same-site' }],
  ['another site by Sec-Fetch-Site', { 'sec-fetch-site': 'cross-site' }],
  ['a foreign referrer', { referer: 'http://127.0.0.1:9/preview' }],
]

function swapCase(text: string): string {
  return text.replaceAll(/[a-zA-Z]/g, (one) =>
    one === one.toLowerCase() ? one.toUpperCase() : one.toLowerCase(),
  )
}

describe('the session of a browser', () => {
  test('receives a page secret, unlike that of another client', async () => {
    expect(page.secret).toMatch(/^[\w-]{43}$/)
    expect(page.secret).not.toBe(page.id)
    expect((await login(OWNER)).body).not.toHaveProperty('page_secret')
    // Over plain HTTP to another host browsers omit Sec-Fetch-Site, so the page sends the header of the secret.
    expect(at((await login(OWNER, { [SECRET]: 'none' })).body, 'page_secret')).toMatch(/^[\w-]{43}$/)
    const stored = JSON.stringify(await here.sql('select * from sessions'))
    expect(stored + here.plane.log()).not.toContain(page.secret)
  })

  test('cannot write on any route without the page secret', async () => {
    expect(writes.length).toBeGreaterThan(20)
    const before = await events()
    const wrong: string[] = []
    for (const [place, operation] of writes.entries())
      for (const [turn, [what, headers]] of STOLEN.entries()) {
        if ((place + turn) % STOLEN_STEP !== 0) continue
        const body = operation.path.endsWith('/kill-switch') ? { active: false } : {}
        const answer = await send(operation, { cookie: page.cookie, ...headers() }, body)
        const isRefused = answer.status === 403 && at(answer.body, 'restriction') === 'page_secret'
        if (!isRefused || !/Sign in again in the dashboard/.test(at(answer.body, 'message')))
          wrong.push(`${operation.method} ${operation.path} with ${what}: ${answer.status} ${answer.text}`)
      }
    expect(wrong).toEqual([])
    expect(await events()).toEqual(before)
  }, 120_000)

  test('cannot write on any route from another origin with the page secret', async () => {
    const before = await events()
    const wrong: string[] = []
    for (const operation of writes)
      for (const [what, headers] of FOREIGN_ORIGINS) {
        const given = { cookie: page.cookie, [SECRET]: page.secret, ...headers }
        const { status } = await send(operation, given, { active: true })
        if (status !== 403) wrong.push(`${operation.method} ${operation.path} from ${what}: ${status}`)
      }
    expect(wrong).toEqual([])
    expect(await events()).toEqual(before)
  }, 120_000)

  test('with its secret, and the session of a plain client without one, reaches every route', async () => {
    for (const operation of writes) {
      // These end the session that later checks need.
      if (/logout$|password$/.test(operation.path)) continue
      for (const headers of [{ cookie: page.cookie, [SECRET]: page.secret }, { cookie: plain }]) {
        const { status, body } = await send(operation, headers)
        expect([200, 400, 403, 404], `${operation.method} ${operation.path}`).toContain(status)
        expect(at(body, 'restriction')).toBeUndefined()
      }
    }
  })

  test('reads everything without its secret, and reports what is missing', async () => {
    const thief = caller(here.plane.url, { cookie: page.cookie })
    expect((await thief('GET', '/api/auth/me')).body).toMatchObject({ user: { restriction: 'page_secret' } })
    for (const path of [
      '/api/dashboard/proxy-approvals',
      '/api/dashboard/export',
      '/api/dashboard/audit-export',
    ])
      expect((await thief('GET', path)).status).toBe(200)
    const own = caller(here.plane.url, { cookie: page.cookie, [SECRET]: page.secret })
    expect((await own('GET', '/api/auth/me')).body).toMatchObject({ user: { restriction: null } })
  })

  test.each(['/api/dashboard/kill-switch', '/api/v1/org/kill-switch'])(
    'activates the kill switch by %s without its secret, and lifts nothing',
    async (path) => {
      const thief = caller(here.plane.url, { cookie: page.cookie })
      const body = { scope: 'agent:nobody', reason: 'test' }
      expect((await thief('POST', path, { ...body, active: true })).status).toBe(200)
      expect((await thief('POST', path, { ...body, active: false })).status).toBe(403)
      const foreignPage = { origin: 'http://127.0.0.1:9' }
      expect((await thief('POST', path, { ...body, active: true }, foreignPage)).status).toBe(403)
      const own = caller(here.plane.url, { cookie: page.cookie, [SECRET]: page.secret })
      expect((await own('POST', path, { ...body, active: false })).status).toBe(200)
    },
  )

  test('has a new page secret after a change of the password, and the old one is invalid', async () => {
    const session = await signIn(MEMBER)
    const NEXT = 'another correct horse'
    const change = { current_password: PASSWORD, new_password: NEXT }
    const own = { cookie: session.cookie, [SECRET]: session.secret }
    const answer = await caller(here.plane.url, own)('POST', '/api/auth/password', change)
    const secret = at(answer.body, 'page_secret')
    expect(secret).toMatch(/^[\w-]{43}$/)
    const cookie = cookieOf(answer)
    const keys = (given: Record<string, string>) =>
      caller(here.plane.url, given)('POST', '/api/auth/keys', { name: 'n' })
    expect((await keys({ cookie })).status).toBe(403)
    expect((await keys({ cookie, [SECRET]: session.secret })).status).toBe(403)
    expect((await keys({ cookie, [SECRET]: secret })).status).toBe(200)
    foreign = { id: cookie.slice('svc_session='.length), cookie, secret }
  })
})

describe('of several cookies with the name of the session', () => {
  const me = async (cookie: string, headers: Record<string, string> = {}) => {
    const { status, body } = await caller(here.plane.url, { cookie, ...headers })('GET', '/api/auth/me')
    return status === 200 ? at(body, 'user', 'email') : status
  }

  test.each([
    ['a planted one before it', (own: string) => `svc_session=x; ${own}`],
    ['a planted one behind it', (own: string) => `${own}; svc_session=x`],
    ['an empty one', (own: string) => `svc_session=; ${own}; svc_session`],
    ['one of the right form', (own: string) => `svc_session=${'A'.repeat(43)}; ${own}`],
    ['its own twice', (own: string) => `${own}; ${own}`],
    [
      'two hundred',
      (own: string) => `${Array.from({ length: 200 }, (_, n) => `svc_session=x${n}`).join('; ')}; ${own}`,
    ],
    ['one with a NUL', (own: string) => `svc_session=%00; ${own}`],
    ['one with quotes', (own: string) => `svc_session="${'x'.repeat(43)}"; ${own}`],
    ['one that has an equals sign', (own: string) => `svc_session=a=b; ${own}`],
  ])('the known one counts beside %s', async (_, with_) => {
    expect(await me(with_(page.cookie))).toBe(OWNER)
    const killSwitch = { active: true, scope: 'agent:nobody', reason: 'test' }
    const call = caller(here.plane.url, { cookie: with_(page.cookie) })
    expect((await call('POST', '/api/dashboard/kill-switch', killSwitch)).status).toBe(200)
  })

  test('the session of the page secret is used, regardless of the other one', async () => {
    for (const cookie of [`${foreign.cookie}; ${page.cookie}`, `${page.cookie}; ${foreign.cookie}`]) {
      expect(await me(cookie, { [SECRET]: page.secret })).toBe(OWNER)
      expect(await me(cookie, { [SECRET]: foreign.secret })).toBe(MEMBER)
      // Without a page secret, a planted session of a lower role does not replace that of the user.
      expect(await me(cookie)).toBe(OWNER)
    }
  })

  test('unknown ones are ignored, and a sign-out ends the session that was used', async () => {
    expect(await me('svc_session=x; svc_session=y')).toBe(401)
    const session = await signIn(OWNER)
    const own = { cookie: `svc_session=x; ${session.cookie}`, [SECRET]: session.secret }
    expect((await caller(here.plane.url, own)('POST', '/api/auth/logout')).status).toBe(200)
    expect(await me(session.cookie)).toBe(401)
    expect(await me(page.cookie)).toBe(OWNER)
  })
})
