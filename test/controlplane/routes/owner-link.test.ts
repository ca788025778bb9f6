import { connect } from 'node:net'
import { text as textOf } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from './installation.ts'
import { at, type Call, PASSWORD, register, startControlPlane, type TestControlPlane } from './start.ts'

const OWNER = 'owner@example.com'
const PATH = '/api/auth/owner-link'

let here: TestInstallation
let token: string

beforeAll(async () => {
  here = await startTestInstallation({ APPROVALS: 'session' })
})
afterAll(() => here?.[Symbol.asyncDispose]())

const settingsEvents = () =>
  here.sql("select details from audit_events where event_type = 'settings.updated' order by id")

const tokenOf = (link: string) => new URL(link).searchParams.get('token') ?? ''
const newToken = async (call: Call = here.admin) =>
  tokenOf(at((await call('POST', PATH, {})).body, 'owner_link'))

describe('once an agent was started on the machine, the first owner', () => {
  test('has a random link that the command line gets, and the change is in the audit log once', async () => {
    const { body } = await here.admin('POST', PATH, { required: true })
    expect(at(body, 'owner_link')).toMatch(new RegExp(`^${here.plane.url}/setup\\?token=[\\w-]{43}$`))
    token = tokenOf(at(body, 'owner_link'))
    expect(await newToken()).not.toBe(token)
    expect((await here.admin('POST', PATH, { required: true })).body).not.toEqual(body)
    const changes = (await settingsEvents()).map(({ details }) => at(details, 'change'))
    expect(changes).toEqual(['owner_link_made', 'owner_link_required', ...Array(2).fill('owner_link_made')])
  })

  test('is in no log and in no column', async () => {
    expect(here.plane.log()).not.toContain(token)
    expect(here.plane.log()).not.toContain('/setup?token=')
    const stored = JSON.stringify(await here.sql('select * from owner_links'))
    expect(stored).not.toContain(token)
    expect(JSON.stringify(await here.sql('select details from audit_events'))).not.toContain(token)
  })

  test('is nobody for whoever has no token, or another one', async () => {
    for (const headers of [{}, { authorization: 'Bearer x' }, { cookie: 'svc_session=x' }])
      expect((await here.plane.call('POST', PATH, {}, headers)).status).toBe(401)
  })

  test.each([
    {},
    { setup_token: '' },
    { setup_token: 'A'.repeat(43) },
    { setup_token: 'null' },
    { invite_token: 'A'.repeat(43) },
    { setup_token: '', invite_token: '' },
  ])('does not register with %j, at any replica and with any address', async (extra) => {
    const replica = await here.another()
    for (const plane of [here.plane, replica])
      for (const headers of [{}, { 'x-forwarded-for': '127.0.0.1' }, { origin: plane.url }]) {
        const body = { email: OWNER, password: PASSWORD, name: 'Agent', ...extra }
        const answer = await plane.call('POST', '/api/auth/register', body, headers)
        expect(answer.status).toBe(403)
        expect(answer.text).toMatch(/chaperone owner-link/)
      }
    expect(await here.sql('select id from users')).toEqual([])
  })

  test('does not register with a link that is an hour old', async () => {
    const old = await newToken()
    const longest = await here.sql(
      'select max(expires_at - now()) <= interval $$1 hour$$ as ok from owner_links',
    )
    expect(longest).toEqual([{ ok: true }])
    await here.sql("update owner_links set expires_at = expires_at - interval '1 hour'")
    expect((await register(here.plane.call, OWNER, { setup_token: old })).status).toBe(403)
    expect((await register(here.plane.call, OWNER, { setup_token: token })).status).toBe(403)
  })

  test('has at most 20 links at a time, the newest', async () => {
    const tokens: string[] = []
    for (let n = 0; n < 22; n++) tokens.push(await newToken())
    expect(await here.sql('select count(*)::int as links from owner_links')).toEqual([{ links: 20 }])
    expect((await register(here.plane.call, OWNER, { setup_token: tokens[0] })).status).toBe(403)
  })

  test('is one of 20 users who use one link at once; every link is void then', async () => {
    const [link, other] = [await newToken(), await newToken()]
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        register(here.plane.call, `p${n}@example.com`, { setup_token: link }),
      ),
    )
    const owners = answers.filter(({ body }) => at(body, 'user', 'role') === 'owner')
    expect(owners).toHaveLength(1)
    expect(await here.sql('select * from owner_links')).toEqual([])
    expect((await here.admin('POST', PATH, {})).body).toEqual({ ok: true, owner_link: null })
    const second = await register(here.plane.call, 'second@example.com', { setup_token: other })
    expect(second.body).toMatchObject({ user: { role: 'viewer' } })
  })
})

test('a control plane on loopback behind a public address takes the first owner by link only', async () => {
  const database = await here.createDatabase()
  const plane = await startControlPlane(database, { PUBLIC_URL: 'https://chaperone.example.com' })
  try {
    const headers = { host: 'chaperone.example.com' }
    expect((await register(plane.call, OWNER)).status).toBe(403)
    const body = { email: OWNER, password: PASSWORD, name: 'N' }
    expect((await plane.call('POST', '/api/auth/register', body, headers)).status).toBe(403)
  } finally {
    await plane.close()
  }
})

test('before the first agent, loopback needs no link', async () => {
  const plane = await startControlPlane(await here.createDatabase())
  try {
    expect((await register(plane.call, OWNER)).body).toMatchObject({ user: { role: 'owner' } })
  } finally {
    await plane.close()
  }
})

describe('a request that a proxy on the same machine forwarded', () => {
  let plane: TestControlPlane
  beforeAll(async () => {
    plane = await startControlPlane(await here.createDatabase())
  })
  afterAll(() => plane?.close())
  const body = (email: string) => ({ email, password: PASSWORD, name: 'N' })
  const FORWARDED = [
    { 'x-forwarded-for': '203.0.113.9' },
    { 'x-forwarded-for': '127.0.0.1' },
    { 'x-forwarded-for': '' },
    { forwarded: 'for=203.0.113.9;proto=https' },
    { 'x-real-ip': '203.0.113.9' },
    { 'x-forwarded-host': 'chaperone.example.com' },
    { 'x-forwarded-proto': 'https' },
    { 'x-forwarded-port': '443' },
    { 'x-forwarded-server': 'edge' },
    { via: '1.1 edge' },
    { 'x-client-ip': '203.0.113.9' },
    { 'x-cluster-client-ip': '203.0.113.9' },
    { 'true-client-ip': '203.0.113.9' },
    { 'cf-connecting-ip': '203.0.113.9' },
    { 'fastly-client-ip': '203.0.113.9' },
    { 'x-original-host': 'chaperone.example.com' },
    { origin: 'https://chaperone.example.com' },
    { referer: 'https://chaperone.example.com/' },
    { 'sec-fetch-site': 'cross-site' },
  ] as const

  test.each(FORWARDED)('registers no first owner: %j', async (headers) => {
    const answer = await plane.call('POST', '/api/auth/register', body(OWNER), headers)
    expect(answer.status).toBe(403)
    expect(answer.text).toMatch(/chaperone owner-link/)
  })

  test('registers no first owner over HTTP/1.0, which nginx speaks without a field of its own', async () => {
    const { port } = new URL(plane.url)
    const text = JSON.stringify(body(OWNER))
    const head = [
      'POST /api/auth/register HTTP/1.0',
      ...[`Host: 127.0.0.1:${port}`, 'Connection: close', 'Content-Type: application/json'],
      `Content-Length: ${Buffer.byteLength(text)}`,
    ]
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(`${head.join('\r\n')}\r\n\r\n${text}`)
    const answer = await textOf(socket)
    expect(answer).toMatch(/^HTTP\/1\.\d 403 [\s\S]*chaperone owner-link/)
  })

  test('registers nobody as a viewer unless registration is open', async () => {
    expect((await register(plane.call, OWNER)).body).toMatchObject({ user: { role: 'owner' } })
    const [first, ...others] = FORWARDED.map((headers, n) =>
      plane.call('POST', '/api/auth/register', body(`p${n}@example.com`), headers),
    )
    for (const answer of await Promise.all([first, ...others])) expect(answer?.status).toBe(403)
    expect((await register(plane.call, 'here@example.com')).body).toMatchObject({ user: { role: 'viewer' } })
  })
})

test.each([{ TRUSTED_PROXIES: '127.0.0.1' }, { PUBLIC_URL: 'https://chaperone.example.com' }])(
  'a control plane on loopback with %j is reached by others: the first owner by link, others by invitation',
  async (env) => {
    const plane = await startControlPlane(await here.createDatabase(), env)
    try {
      expect((await register(plane.call, OWNER)).status).toBe(403)
    } finally {
      await plane.close()
    }
  },
)
