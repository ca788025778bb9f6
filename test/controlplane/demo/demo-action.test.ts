import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startTestInstallation, type TestInstallation } from '../routes/installation.ts'
import { at, register } from '../routes/start.ts'

let here: TestInstallation

beforeAll(async () => {
  here = await startTestInstallation()
})
afterAll(() => here?.[Symbol.asyncDispose]())

const demo = (body: object) => here.admin('POST', '/api/dashboard/demo-action', body)

describe('a demo action', () => {
  test.each([
    [0, 'allow', 'allowed', ['action.requested', 'action.allowed']],
    [1, 'requires_approval', 'pending_approval', ['action.requested', 'action.pending_approval']],
    [2, 'deny', 'denied', ['action.requested', 'action.denied']],
  ])('%i comes out as %s in a fresh installation', async (scenario, outcome, status, events) => {
    const answer = await demo({ scenario })
    expect(answer.status).toBe(200)
    expect(answer.body).toMatchObject({
      ok: true,
      scenario: expect.stringMatching(/^[A-Z]/),
      action_request_id: expect.stringMatching(/^act_/),
      decision: {
        outcome,
        reason: expect.any(String),
        matched_policies: expect.arrayContaining([expect.stringMatching(/^pol_/)]),
      },
    })
    expect(Object.keys(answer.body).toSorted()).toEqual(['action_request_id', 'decision', 'ok', 'scenario'])
    const id = at(answer.body, 'action_request_id')
    expect(await here.sql('select status from action_requests where id = $1', [id])).toEqual([{ status }])
    const rows = await here.sql(
      'select event_type from audit_events where action_request_id = $1 order by id',
      [id],
    )
    expect(rows.map((row) => row['event_type'])).toEqual(events)
  })

  test('is any of the three when none is named, and nothing else', async () => {
    const seen = new Set<string>()
    for (let n = 0; n < 40; n++) seen.add(at((await demo({})).body, 'scenario'))
    expect(seen.size).toBe(3)
    for (const scenario of [3, -1, 0.5, '0', null]) expect((await demo({ scenario })).status).toBe(400)
  })

  test('comes from one built-in agent that has no key and is not exported', async () => {
    const agents = await here.sql(`select * from agents where managed_by = 'demo-action'`)
    expect(agents).toMatchObject([
      { name: 'chaperone-demo', api_key_prefix: null, api_key_sha256: null, gateway_id: null },
    ])
    expect((await here.admin('GET', '/api/dashboard/export')).text).not.toContain('chaperone-demo')
  })

  test('still works when its agent was revoked, its name is taken, or the first calls are concurrent', async () => {
    const [before] = await here.sql(`select id from agents where managed_by = 'demo-action'`)
    await here.admin('PATCH', '/api/dashboard/agents', { agent_id: before?.['id'], action: 'revoke' })
    await here.admin('POST', '/api/dashboard/agents', {
      name: 'chaperone-demo',
      runtime: '',
      environment: 'staging',
    })
    const answers = await Promise.all([...Array(8)].map(() => demo({ scenario: 0 })))
    expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(200))
    expect(answers.map(({ body }) => at(body, 'decision', 'outcome'))).toEqual(Array(8).fill('allow'))
    expect(
      await here.sql(`select 1 from agents where managed_by = 'demo-action' and status <> 'revoked'`),
    ).toHaveLength(1)
  })

  test('is taken sixty times a minute from one person, who cannot fill inbox and audit log with it', async () => {
    await register(here.plane.call, 'owner@example.com')
    await register(here.plane.call, 'busy@example.com')
    await register(here.plane.call, 'quiet@example.com')
    const busy = await here.plane.signIn('busy@example.com')
    const count = async () => (await here.sql('select count(*)::int as n from action_requests'))[0]?.['n']
    const before = await count()
    const ask = () => busy('POST', '/api/dashboard/demo-action', { scenario: 1 })
    const answers = await Promise.all(Array.from({ length: 70 }, ask))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(60)
    const refused = answers.filter(({ status }) => status === 429)
    expect(refused).toHaveLength(10)
    for (const { text, headers } of refused) {
      expect(text).toMatch(
        /^\{"error":"Rate limit exceeded","message":".*Try again in \d+ s\.","retry_after":[1-9]\d?\}$/,
      )
      expect(Number(headers.get('retry-after'))).toBeGreaterThan(0)
    }
    expect(await count()).toBe(Number(before) + 60)
    const quiet = await here.plane.signIn('quiet@example.com')
    expect((await quiet('POST', '/api/dashboard/demo-action', { scenario: 0 })).status).toBe(200)
  })

  test('is for every signed-in user', async () => {
    expect((await here.plane.call('POST', '/api/dashboard/demo-action', {})).status).toBe(401)
    await register(here.plane.call, 'owner@example.com')
    await register(here.plane.call, 'viewer@example.com')
    const viewer = await here.plane.signIn('viewer@example.com')
    expect((await viewer('POST', '/api/dashboard/demo-action', { scenario: 2 })).status).toBe(200)
  })
})
