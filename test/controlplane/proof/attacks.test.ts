import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { at, type Call, caller, register, type TestControlPlane } from '../routes/start.ts'
import { ALLOWED, bearer, RISKY, startWorld, type TestAgent, type World } from '../v1/world.ts'

let world: World
let replica: TestControlPlane
let owner: Call
let viewer: Call

beforeAll(async () => {
  world = await startWorld()
  replica = await world.replica()
  await register(world.plane.call, 'owner@example.com')
  owner = await world.plane.signIn('owner@example.com')
  await register(world.plane.call, 'viewer@example.com')
  viewer = await world.plane.signIn('viewer@example.com')
})
afterAll(() => world?.[Symbol.asyncDispose]())

const on = (plane: TestControlPlane, agent: TestAgent) => caller(plane.url, bearer(agent.key))

describe('approve, deny, cancel and time at the same moment', () => {
  test('leave each action in one state, with one end in its chain, whichever won', async () => {
    const ends: string[] = []
    for (let round = 0; round < 3; round++) {
      const agent = await world.agent()
      const opened = await Promise.all(
        Array.from({ length: 12 }, () => agent.call('POST', '/api/v1/actions', { action_spec: RISKY })),
      )
      await Promise.all(
        opened.map(async ({ body }, index) => {
          const [id, approval] = [at(body, 'action_request_id'), at(body, 'approval', 'id')]
          const path = `/api/v1/approvals/${approval}/respond`
          const deeds = [
            () => owner('POST', path, { decision: 'approve' }),
            () => on(replica, agent)('POST', `/api/v1/actions/${id}/cancel`),
            () => owner('POST', path, { decision: 'deny' }),
            () => world.sql('update approvals set expires_at = clock_timestamp() where id = $1', [approval]),
          ]
          const turned = [...deeds.slice(index % 4), ...deeds.slice(0, index % 4)]
          await Promise.all(turned.map((deed) => deed()))
        }),
      )
      for (const { body } of opened) ends.push(await endOf(agent, at(body, 'action_request_id')))
    }
    expect(ends).toHaveLength(36)
    expect(new Set(ends).size).toBeGreaterThan(1)
  })

  /** The state, checked against approval, nonce and chain. */
  async function endOf(agent: TestAgent, id: string): Promise<string> {
    // Not by asking again and again: the agent has sixty requests a minute.
    await eventually('it has ended', async () => {
      const [action] = await world.sql<{ status: string }>(
        'select status from action_requests where id = $1',
        [id],
      )
      return action?.status === 'pending_approval' ? null : true
    })
    const { body } = await on(replica, agent)('GET', `/api/v1/actions/${id}`)
    const chain = await world.chain(id)
    const status = String(body['status'])
    const [row] = await world.sql<{ status: string; nonces: string }>(
      `select a.status, (select count(*) from nonces n where n.act_id = a.act_id) as nonces
       from approvals a where a.act_id = $1`,
      [id],
    )
    // An approved action may be cancelled a moment later: that is a second, lawful end.
    const known: Record<string, readonly [approval: string, ...last: string[]][]> = {
      allowed: [['approved', 'approval.responded']],
      denied: [['denied', 'approval.responded']],
      expired: [['expired', 'approval.expired']],
      cancelled: [
        ['cancelled', 'action.cancelled'],
        ['approved', 'approval.responded', 'action.cancelled'],
      ],
    }
    const seen = [row?.status, ...chain.slice(2)]
    expect(known[status], `${status}: ${seen.join(' ')}`).toContainEqual(seen)
    expect(chain.slice(0, 2)).toEqual(['action.requested', 'action.pending_approval'])
    expect(Number(row?.nonces)).toBe(row?.status === 'approved' ? 1 : 0)
    expect(body['decision_token'] === null).toBe(status !== 'allowed')
    return status
  }
})

describe('an agent', () => {
  test('gets nothing with the Idempotency-Key of another one', async () => {
    const [one, other] = [await world.agent(), await world.agent()]
    const key = { 'idempotency-key': 'shared-secret-1' }
    const mine = await one.call('POST', '/api/v1/actions', { action_spec: ALLOWED }, key)
    const theirs = await on(replica, other)('POST', '/api/v1/actions', { action_spec: ALLOWED }, key)
    expect(theirs.status).toBe(200)
    expect(at(theirs.body, 'action_request_id')).not.toBe(at(mine.body, 'action_request_id'))
    expect(theirs.text).not.toContain(at(mine.body, 'decision_token'))
  })

  test('cannot name itself into a path, a header or a proxy user with its Idempotency-Key or ids', async () => {
    const agent = await world.agent()
    for (const id of [
      '..%2f..%2fapi%2fdashboard%2fagents',
      '%00',
      'act_x%0d%0aX-Injected:%20yes',
      'a'.repeat(400),
    ]) {
      const answer = await agent.call('GET', `/api/v1/actions/${id}`)
      expect([400, 404]).toContain(answer.status)
      expect(answer.headers.get('x-injected')).toBeNull()
    }
  })

  test.each([
    ...['http://127.0.0.1:%P/', 'http://localhost:%P/', 'http://[::1]:%P/', 'http://0.0.0.0:%P/'],
    ...['http://[::ffff:127.0.0.1]:%P/', 'http://[::ffff:7f00:1]:%P/', 'http://[64:ff9b::7f00:1]:%P/'],
    ...['http://2130706433:%P/', 'http://0x7f.1:%P/', 'http://017700000001:%P/', 'http://127.1:%P/'],
    ...[
      'http://169.254.169.254/latest/',
      'http://[fd00:ec2::254]/',
      'http://[fe80::1]:%P/',
      'http://[::]:%P/',
    ],
    ...['http://user@127.0.0.1:%P/', 'http://127.0.0.1.:%P/', 'http://localhost.:%P/'],
  ])('does not make the control plane call %s', async (pattern) => {
    const agent = await world.agent()
    const hits = world.plane.url
    const webhook_url = pattern.replace('%P', new URL(hits).port)
    const { status, body } = await agent.call('POST', '/api/v1/actions', {
      action_spec: ALLOWED,
      webhook_url,
    })
    if (status === 400) return
    expect(status).toBe(200)
    const id = at(body, 'action_request_id')
    const row = await eventually('it was tried', async () => {
      const [found] = await world.sql<{ last_error: string | null; attempts: number }>(
        'select last_error, attempts from outbox where subject_id = $1 and attempts > 0',
        [id],
      )
      return found?.last_error == null ? null : found
    })
    expect(row.last_error).toMatch(/nothing was sent|could not be reached: (ENOTFOUND|EAI_AGAIN)/)
  })
})

describe('a viewer', () => {
  test('changes nothing: every write of the dashboard but its own session and the demo is refused', async () => {
    for (const [method, path, body] of [
      ['POST', '/api/dashboard/kill-switch', { active: true }],
      ['POST', '/api/dashboard/proxy-approvals', { id: 'apr_x', approved: true }],
      ['POST', '/api/v1/approvals/apr_x/respond', { decision: 'approve' }],
      ['POST', '/api/v1/org/kill-switch', { active: false }],
      ['PUT', '/api/dashboard/settings', { settings: {} }],
      ['POST', '/api/dashboard/import', { version: '1.0' }],
      ['GET', '/api/dashboard/export', undefined],
      ['GET', '/api/dashboard/audit-export', undefined],
    ] as const) {
      const answer = await viewer(method, path, body)
      expect(answer.status, `${method} ${path}`).toBe(403)
      expect(answer.body['your_role']).toBe('viewer')
    }
  })

  test('does not probe the network by test-gateway', async () => {
    for (const url of [
      'http://127.0.0.1:22/',
      'http://169.254.169.254/',
      `${world.plane.url}/api/health`,
      'file:///etc/passwd',
    ]) {
      const answer = await viewer('GET', `/api/dashboard/test-gateway?url=${encodeURIComponent(url)}`)
      expect(answer.status, url).toBe(400)
    }
  })
})

describe('a text that grows when it is read', () => {
  const laughs = ['a: &a [x,x,x,x,x,x,x,x,x]']
  for (const [name, before] of ['ba', 'cb', 'dc', 'ed', 'fe', 'gf', 'hg', 'ih'].map((pair) => [...pair])) {
    laughs.push(`${name}: &${name} [${Array(9).fill(`*${before}`).join(',')}]`)
  }
  const bomb = `${laughs.join('\n')}\nrules: *i\n`
  const deep = `rules: ${'['.repeat(20_000)}${']'.repeat(20_000)}\n`
  const merged = `${Array.from({ length: 2_000 }, (_, i) => `k${i}: &k${i} {<<: *k${Math.max(0, i - 1)}, a: 1}`).join('\n')}\n`

  test.each([
    ['aliases of aliases', bomb],
    ['brackets without end', deep],
    ['merges of merges', merged],
    ['tags', 'rules: !!js/function "function(){}"\n'],
    ['a long number', `rules: [{name: a, decision: deny}]\npriority: ${'9'.repeat(50_000)}\n`],
    // A bomb that goes off takes minutes or all memory: the time-out of the test finds it.
  ])('is refused: %s', async (_what, policyYaml) => {
    for (const path of ['/api/dashboard/policies', '/api/dashboard/policies/check']) {
      const answer = await owner('POST', path, { name: 'bomb', policyYaml })
      expect([200, 400], answer.text.slice(0, 300)).toContain(answer.status)
      if (answer.status === 200)
        expect(answer.text).toMatch(/"ok":false|"valid":false|"errors?":|"problems?":/)
    }
    const imported = await owner('POST', '/api/dashboard/import', {
      version: '1.0',
      policies: [{ name: 'bomb', policyYaml }],
    })
    expect(imported.body, imported.text.slice(0, 300)).toMatchObject({ policies_imported: 0 })
    const { body } = await owner('GET', '/api/dashboard/policies')
    expect(at<{ name: string }[]>(body, 'policies').map(({ name }) => name)).not.toContain('bomb')
  })
})

test('the audit export holds every event once, in order, while others are written', async () => {
  const agent = await world.agent()
  let isOver = false
  const writing = (async () => {
    for (let n = 0; !isOver; n++) {
      if (n % 50 === 0) await world.sql('delete from agent_windows')
      await agent.call('POST', '/api/v1/actions', { action_spec: ALLOWED })
    }
  })()
  const [before] = await world.sql<{ id: string }>('select max(id) as id from audit_events')
  const { text } = await owner('GET', '/api/dashboard/audit-export')
  isOver = true
  await writing
  const ids = [...text.matchAll(/evt_(\d{12})/g)].map((match) => Number(match[1]))
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids).toEqual([...ids].sort((a, b) => a - b))
  const [known] = await world.sql<{ n: string }>('select count(*) as n from audit_events where id <= $1', [
    before?.id,
  ])
  expect(ids.filter((id) => id <= Number(before?.id))).toHaveLength(Number(known?.n))
})
