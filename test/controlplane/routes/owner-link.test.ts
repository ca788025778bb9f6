import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from './installation.ts'
import { at, PASSWORD, register, startControlPlane } from './start.ts'

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

describe('once an agent was started on the machine, the first owner', () => {
  test('has the link that the command line gets, and the change is in the audit log once', async () => {
    const { body } = await here.admin('POST', PATH)
    expect(body['owner_link']).toBe(here.plane.ownerLink)
    token = new URL(at(body, 'owner_link')).searchParams.get('token') ?? ''
    expect((await here.admin('POST', PATH)).body).toEqual(body)
    expect(await settingsEvents()).toEqual([
      { details: expect.objectContaining({ change: 'owner_link_required' }) },
    ])
  })

  test('is nobody for whoever has no token, or another one', async () => {
    for (const headers of [{}, { authorization: 'Bearer x' }, { cookie: 'svc_session=x' }])
      expect((await here.plane.call('POST', PATH, undefined, headers)).status).toBe(401)
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
        expect(answer.text).toMatch(/owner link/)
      }
    expect(await here.sql('select id from users')).toEqual([])
  })

  test('registers with the link, which is void then', async () => {
    expect((await register(here.plane.call, OWNER, { setup_token: token })).body).toMatchObject({
      user: { role: 'owner' },
    })
    expect((await here.admin('POST', PATH)).body).toEqual({ ok: true, owner_link: null })
    const second = await register(here.plane.call, 'second@example.com', { setup_token: token })
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
