import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from './installation.ts'
import { type Answer, at, type Call, caller, PASSWORD, register } from './start.ts'

const KEYS = '/api/auth/keys'
const USERS = '/api/dashboard/users'
const DAY_MS = 86_400_000

let here: TestInstallation
let owner: Call
let ownerId: string

beforeAll(async () => {
  here = await startTestInstallation()
  ownerId = at((await register(here.plane.call, 'owner@example.com')).body, 'user', 'id')
  owner = await here.plane.signIn('owner@example.com')
})
afterAll(() => here?.[Symbol.asyncDispose]())

type Person = { readonly id: string; readonly email: string; readonly call: Call }
let joined = 0

async function join(role: string): Promise<Person> {
  const email = `${role}-${++joined}@example.com`
  const invited = await owner('POST', USERS, { action: 'invite', email, role })
  const { body } = await register(here.plane.call, email, { invite_token: at(invited.body, 'invite_token') })
  return { id: at(body, 'user', 'id'), email, call: await here.plane.signIn(email) }
}

const byKey = (key: string) => caller(here.plane.url, { authorization: `Bearer ${key}` })
/** 404 for a key that may answer: the approval does not exist. */
const answer = async (key: string) =>
  (await byKey(key)('POST', '/api/v1/approvals/apr_none/respond', { decision: 'approve' })).status
const make = async (by: Call, body: object = {}): Promise<string> => {
  const made = await by('POST', KEYS, body)
  expect(made.status, made.text).toBe(200)
  return at(made.body, 'api_key')
}
const listed = async (by: Call) => at<Record<string, unknown>[]>((await by('GET', KEYS)).body, 'keys')

describe('an approver key', () => {
  test('is made by its owner, shown once, listed without its secret, and answers approvals', async () => {
    const ann = await join('member')
    const made = await ann.call('POST', KEYS, { name: 'pager', expires_in_days: 7 })
    expect(made.body).toEqual({
      ok: true,
      id: expect.stringMatching(/^key_/),
      api_key: expect.stringMatching(/^svc_user_\w{43}$/),
      expires_at: expect.any(String),
    })
    expect(Math.abs(Date.parse(at(made.body, 'expires_at')) - Date.now() - 7 * DAY_MS)).toBeLessThan(60_000)
    const key = at(made.body, 'api_key')
    expect(await listed(ann.call)).toEqual([
      {
        ...{ id: made.body['id'], name: 'pager', prefix: key.slice(0, 15), last_used_at: null },
        ...{ created_at: expect.any(String), expires_at: made.body['expires_at'] },
      },
    ])
    expect(await answer(key)).toBe(404)
    expect((await listed(ann.call))[0]?.['last_used_at']).toEqual(expect.any(String))
    const all = JSON.stringify([await listed(ann.call), here.plane.log()])
    expect(all).not.toContain(key.slice(15))
    const rows = await here.sql('select k::text as row from approver_keys k')
    expect(JSON.stringify(rows)).not.toContain(key.slice(15))
  })

  test('lasts 90 days unless its owner says otherwise, and never longer than 365', async () => {
    const ann = await join('member')
    await make(ann.call)
    const [key] = await listed(ann.call)
    expect(Math.abs(Date.parse(String(key?.['expires_at'])) - Date.now() - 90 * DAY_MS)).toBeLessThan(60_000)
    expect(key?.['name']).toBeNull()
    for (const expires_in_days of [0, 366, 1.5, -1, '7', null]) {
      expect((await ann.call('POST', KEYS, { expires_in_days })).status, String(expires_in_days)).toBe(400)
    }
    expect((await ann.call('POST', KEYS, { user_id: ownerId })).status).toBe(400)
    expect((await ann.call('POST', KEYS, { name: 'a\u0000b' })).status).toBe(400)
  })

  test('that has expired is refused with 401 by the clock of the database', async () => {
    const ann = await join('member')
    const key = await make(ann.call)
    await here.sql("update approver_keys set expires_at = now() - interval '1 second' where user_id = $1", [
      ann.id,
    ])
    expect(await answer(key)).toBe(401)
    expect(await listed(ann.call)).toHaveLength(1)
  })

  test('is revoked by its owner and by nobody else', async () => {
    const [ann, bob] = [await join('member'), await join('admin')]
    const key = await make(ann.call)
    const id = String((await listed(ann.call))[0]?.['id'])
    for (const other of [bob.call, owner, here.admin]) {
      expect((await other('DELETE', `${KEYS}?id=${id}`)).status).toBeGreaterThanOrEqual(403)
    }
    expect(await answer(key)).toBe(404)
    expect((await ann.call('DELETE', `${KEYS}?id=${id}`)).body).toEqual({ ok: true })
    expect(await answer(key)).toBe(401)
    expect((await ann.call('DELETE', `${KEYS}?id=${id}`)).status).toBe(404)
    expect(await listed(bob.call)).toEqual([])
  })

  test('makes no further keys, lists none and revokes none', async () => {
    const ann = await join('admin')
    const key = byKey(await make(ann.call))
    expect((await key('POST', KEYS, {})).status).toBe(401)
    expect((await key('GET', KEYS)).status).toBe(401)
    const id = String((await listed(ann.call))[0]?.['id'])
    expect((await key('DELETE', `${KEYS}?id=${id}`)).status).toBe(401)
    expect((await key('POST', USERS, { action: 'create_key', user_id: ann.id })).status).toBe(401)
    expect((await key('GET', '/api/auth/me')).status).toBe(401)
  })

  test('is for members and above, with a session of their own', async () => {
    const viewer = await join('viewer')
    expect(await viewer.call('POST', KEYS, {})).toMatchObject({
      status: 403,
      body: { required_role: 'member', your_role: 'viewer' },
    })
    for (const method of ['GET', 'POST'] as const) {
      const refused = await here.admin(method, KEYS, method === 'POST' ? {} : undefined)
      expect([refused.status, refused.body['message']]).toEqual([403, expect.stringContaining('Sign in')])
      expect((await here.plane.call(method, KEYS, method === 'POST' ? {} : undefined)).status).toBe(401)
    }
  })

  test('is limited to 20 of one person', async () => {
    const ann = await join('member')
    const answers = await Promise.all(Array.from({ length: 24 }, () => ann.call('POST', KEYS, {})))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(20)
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(4)
  })
})

describe('nobody makes a key for somebody else', () => {
  test('neither an owner, an admin nor the admin token, and the refusal says what to do', async () => {
    const [ann, bob] = [await join('member'), await join('admin')]
    const body = { action: 'create_key', user_id: ann.id }
    const answers: Answer[] = []
    for (const by of [owner, bob.call, here.admin]) answers.push(await by('POST', USERS, body))
    expect(answers.map(({ status }) => status)).toEqual([403, 403, 403])
    for (const { body } of answers) expect(String(body['message'])).toContain('/api/auth/keys')
    expect(await here.sql('select 1 from approver_keys where user_id = $1', [ann.id])).toEqual([])
    expect((await here.admin('POST', USERS, { ...body, user_id: 'admin_token' })).status).toBeGreaterThan(400)
  })

  test('an owner still makes one of his own by the users route', async () => {
    const made = await owner('POST', USERS, { action: 'create_key', user_id: ownerId })
    expect(made.body).toMatchObject({ ok: true, api_key: expect.stringMatching(/^svc_user_/) })
    expect(await answer(at(made.body, 'api_key'))).toBe(404)
  })
})

describe('the keys of a person end', () => {
  test.each([
    ['the role is raised', (id: string) => ({ action: 'change_role', user_id: id, role: 'admin' })],
    ['the role is lowered', (id: string) => ({ action: 'change_role', user_id: id, role: 'viewer' })],
    ['the person is suspended', (id: string) => ({ action: 'suspend', user_id: id })],
  ])('when %s, and do not come back', async (_name, body) => {
    const ann = await join('member')
    const key = await make(ann.call)
    expect((await owner('POST', USERS, body(ann.id))).status).toBe(200)
    expect(await answer(key)).toBe(401)
    await owner('POST', USERS, { action: 'activate', user_id: ann.id })
    await owner('POST', USERS, { action: 'change_role', user_id: ann.id, role: 'member' })
    expect(await answer(key)).toBe(401)
    expect(await listed(await here.plane.signIn(ann.email))).toEqual([])
  })

  test('when the password changes', async () => {
    const ann = await join('member')
    const key = await make(ann.call)
    const passwords = { current_password: PASSWORD, new_password: `${PASSWORD} 2` }
    expect((await ann.call('POST', '/api/auth/password', passwords)).status).toBe(200)
    expect(await answer(key)).toBe(401)
  })

  test('when the user is removed', async () => {
    const ann = await join('member')
    const key = await make(ann.call)
    await here.sql('delete from users where id = $1', [ann.id])
    expect(await answer(key)).toBe(401)
  })

  test('when the password changes while one is being made: none survives', async () => {
    const ann = await join('member')
    const passwords = { current_password: PASSWORD, new_password: `${PASSWORD} 2` }
    // The change may be done before a key of the loop is made.
    const made: Answer[] = [await ann.call('POST', KEYS, {})]
    const change = ann.call('POST', '/api/auth/password', passwords)
    let open = true
    const done = change.then(() => {
      open = false
    })
    while (open && made.length < 400) {
      const next = await ann.call('POST', KEYS, {})
      made.push(next)
    }
    await done
    expect(made.some(({ status }) => status === 200)).toBe(true)
    expect((await ann.call('POST', KEYS, {})).status).toBe(401)
    expect(await here.sql('select 1 from approver_keys where user_id = $1', [ann.id])).toEqual([])
  })
})

describe('the audit log says', () => {
  test('who made and who ended which key, and why', async () => {
    const ann = await join('member')
    const key = await make(ann.call, { name: 'pager' })
    const [{ id, prefix } = {}] = await listed(ann.call)
    await ann.call('DELETE', `${KEYS}?id=${id}`)
    await make(ann.call)
    await owner('POST', USERS, { action: 'suspend', user_id: ann.id })
    const rows = await here.sql(
      `select event_type, user_id, details from audit_events where details->>'email' = $1
         and event_type like 'user.key%' order by id`,
      [ann.email],
    )
    const { email } = ann
    expect(rows).toMatchObject([
      {
        event_type: 'user.key_created',
        user_id: ann.id,
        details: { email, key_id: id, prefix, name: 'pager' },
      },
      { event_type: 'user.key_revoked', user_id: ann.id, details: { email, key_id: id, why: 'revoked' } },
      { event_type: 'user.key_created', user_id: ann.id },
      { event_type: 'user.key_revoked', user_id: ownerId, details: { email, why: 'suspended' } },
    ])
    expect(JSON.stringify(rows)).not.toContain(key)
  })
})
