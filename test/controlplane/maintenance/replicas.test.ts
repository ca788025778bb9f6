import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, type Call, caller, register, type TestControlPlane } from '../routes/start.ts'

let here: TestInstallation
let second: TestControlPlane
let one: Call
let two: Call

beforeAll(async () => {
  here = await startTestInstallation()
  second = await here.another()
  await register(here.plane.call, 'owner@example.com')
  const login = await here.plane.call('POST', '/api/auth/login', {
    email: 'owner@example.com',
    password: 'correct horse battery',
  })
  const cookie = login.headers.get('set-cookie')?.split(';')[0] ?? ''
  one = caller(here.plane.url, { cookie })
  two = caller(second.url, { cookie })
})
afterAll(() => here?.[Symbol.asyncDispose]())

describe('two control planes on one database', () => {
  test('start at the same time on an empty one and make one organisation, one set of policies, one key', async () => {
    const fresh = await here.createDatabase()
    const { startControlPlane } = await import('../routes/start.ts')
    const planes = await Promise.all([...Array(4)].map(() => startControlPlane(fresh)))
    const pg = (await import('pg')).default
    const client = new pg.Client({ connectionString: fresh.adminUrl })
    await client.connect()
    const { rows } = await client.query(
      `select (select count(*) from orgs) as orgs, (select count(*) from policies) as policies,
         (select count(*) from signing_keys) as keys, (select count(*) from schema_migrations) as migrations`,
    )
    await client.end()
    await Promise.all(planes.map((plane) => plane.close()))
    const { readdir } = await import('node:fs/promises')
    const files = (await readdir('controlplane/db/schema/migrations')).length
    expect(rows[0]).toEqual({ orgs: '1', policies: '3', keys: '1', migrations: String(files) })
  })

  test('accept each other’s sessions, and the ends of sessions at once', async () => {
    expect((await two('GET', '/api/auth/me')).status).toBe(200)
    const again = await second.signIn('owner@example.com')
    expect((await again('POST', '/api/auth/logout')).status).toBe(200)
    expect((await again('GET', '/api/auth/me')).status).toBe(401)
  })

  test('see each other’s changes, in lists and in decisions', async () => {
    const agent = { name: 'shared', runtime: 'x', environment: 'production' }
    const key = at((await one('POST', '/api/dashboard/agents', agent)).body, 'api_key')
    expect((await two('GET', '/api/dashboard/agents')).text).toContain('"shared"')
    const spec = { type: 'codehost.issue.create', resource: { provider: 'codehost', target: 'a/b' } }
    const asAgent = caller(second.url, { authorization: `Bearer ${key}` })
    const submit = () => asAgent('POST', '/api/v1/actions', { action_spec: spec })
    expect((await submit()).body).toMatchObject({ decision: { outcome: 'allow' } })
    const policyYaml = 'rules: [{ name: stop, decision: deny, reason: Frozen }]\n'
    await one('POST', '/api/dashboard/policies', { name: 'freeze', policyYaml, priority: 500 })
    // Decisions are never taken under rules that the database no longer has.
    expect((await submit()).body).toMatchObject({ decision: { outcome: 'deny' } })
  })

  test('stop together: a kill switch on one denies on the other', async () => {
    const agent = { name: 'stopped', runtime: 'x', environment: 'production' }
    const key = at((await two('POST', '/api/dashboard/agents', agent)).body, 'api_key')
    await one('POST', '/api/dashboard/kill-switch', { active: true, reason: 'drill' })
    const asAgent = caller(second.url, { authorization: `Bearer ${key}` })
    const spec = { type: 'codehost.issue.create', resource: { provider: 'codehost', target: 'a/b' } }
    await eventually('the other replica denies', async () => {
      const { body } = await asAgent('POST', '/api/v1/actions', { action_spec: spec })
      return at(body, 'decision', 'reason')?.startsWith('Kill switch active: drill') ? true : null
    })
    await two('POST', '/api/dashboard/kill-switch', { active: false })
  })

  test('count the same, whichever is asked', async () => {
    const counts = async (call: Call) =>
      (await call('GET', '/api/metrics')).text
        .split('\n')
        .filter((line) => /^svc_(actions|decisions)/.test(line))
    const other = caller(second.url, { authorization: 'Bearer maintenance-secret-of-this-installation' })
    const first = await counts(here.maintenance)
    expect(first.length).toBe(5)
    expect(await counts(other)).toEqual(first)
    const { version } = JSON.parse(await readFile('package.json', 'utf8')) as { version: string }
    expect((await other('GET', '/api/metrics')).headers.get('x-service-version')).toBe(version)
  })
})
