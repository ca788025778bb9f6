import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type ConfigurationWorld, startConfigurationWorld } from './configuration-world.ts'
import { at, caller } from './start.ts'

let agentCount = 0
let world: ConfigurationWorld
beforeAll(async () => {
  world = await startConfigurationWorld()
})
afterAll(() => world?.[Symbol.asyncDispose]())

describe('the quick setup', () => {
  test('makes agent, connectors and permissions of that agent alone, in one go', async () => {
    const answer = await world.setup('quick', [
      { type: 'codehost', token: 'ghp_canary_quick', accessRule: 'read_only' },
      {
        type: 'payments',
        token: 'sk_canary_quick',
        accessRule: 'custom',
        customPatterns: [{ pattern: 'payments.customer.*', decision: 'allow' }],
      },
    ])
    expect(answer.body).toMatchObject({
      ok: true,
      connectors: [
        { type: 'codehost', domains: expect.arrayContaining(['api.github.com']) },
        { type: 'payments' },
      ],
    })
    const { body } = await world.admin('GET', '/api/dashboard/permissions?gateway=local')
    const mine = at<{ agent: string; action_pattern: string; decision: string; connector_type: string }[]>(
      body,
      'permissions',
    ).filter((p) => p.agent === 'quick')
    expect(mine).toHaveLength(at<number>(answer.body, 'permissions_created'))
    const decisionOf = (pattern: string) => mine.find((p) => p.action_pattern === pattern)?.decision
    expect(decisionOf('codehost.*')).toBe('deny')
    expect(decisionOf('codehost.issue.list')).toBe('allow')
    expect(decisionOf('codehost.issue.create')).toBeUndefined()
    expect(decisionOf('payments.customer.*')).toBe('allow')
  })

  test('stores credentials that no answer, log line or dump shows', async () => {
    const shown = await Promise.all(
      ['connectors', 'gateway', 'permissions', 'agents'].map((path) =>
        world.admin('GET', `/api/dashboard/${path}`),
      ),
    )
    expect(shown.map((answer) => answer.status)).toEqual([200, 200, 200, 200])
    const everything = [
      ...shown.map((answer) => answer.text),
      world.plane.log(),
      await world.dump('connectors'),
      await world.dump('audit_events'),
    ].join('\n')
    expect(everything).toContain('payments')
    expect(everything).not.toMatch(/canary/)
  })

  test('with the same connector again replaces its token instead of making a second', async () => {
    await world.setup('quick2', [{ type: 'codehost', token: 'ghp_canary_second', accessRule: 'allow_all' }])
    const { body } = await world.admin('GET', '/api/dashboard/connectors')
    expect(at<{ type: string }[]>(body, 'connectors').filter((row) => row.type === 'codehost')).toHaveLength(
      1,
    )
  })

  test.each([
    [
      { type: 'generic', token: 't', accessRule: 'allow_all' },
      'connectors.0.domains: a connector of type generic',
    ],
    [{ type: 'nothing', token: 't', accessRule: 'allow_all' }, 'connectors.0.type: '],
    [{ type: 'codehost', accessRule: 'allow_all' }, 'connectors.0.token: is required'],
    [
      { type: 'codehost', token: 't', accessRule: 'custom' },
      'connectors.0.customPatterns: is required with accessRule custom',
    ],
    [
      {
        type: 'codehost',
        token: 't',
        accessRule: 'custom',
        customPatterns: [{ pattern: 'a*b', decision: 'allow' }],
      },
      'connectors.0.customPatterns.0.pattern: ',
    ],
    [
      { type: 'generic', token: 't', accessRule: 'allow_all', domains: ['bad domain'] },
      'connectors.0.domains.0: ',
    ],
  ])('refuses %o naming the path, and leaves nothing behind', async (connector, details) => {
    const name = `bad${agentCount++}`
    const answer = await world.setup(name, [connector])
    expect(answer.status).toBe(400)
    expect(at(answer.body, 'details')).toContain(details)
    expect(
      at<{ name: string }[]>((await world.admin('GET', '/api/dashboard/agents')).body, 'agents').map(
        (a) => a.name,
      ),
    ).not.toContain(name)
  })

  test('refuses a host that another connector of the gateway owns', async () => {
    const answer = await world.setup('overlap', [
      { type: 'generic', token: 't', domains: ['api.github.com'], accessRule: 'allow_all' },
    ])
    expect(answer.status).toBe(409)
    expect(at(answer.body, 'message')).toContain('api.github.com already belongs to the connector codehost')
  })
})

describe('the name of a connector', () => {
  const generic = { type: 'generic', token: 't', accessRule: 'allow_all' }

  test('is the one of the request, and stays when the token is replaced', async () => {
    const connector = { ...generic, name: 'orders-api', domains: ['named.example.test'] }
    expect((await world.setup('namer', [connector])).status).toBe(200)
    const { name: _, ...unnamed } = connector
    expect((await world.setup('namer2', [unnamed])).status).toBe(200)
    const { body } = await world.admin('GET', '/api/dashboard/connectors')
    const names = at<{ name: string; domains: string[] }[]>(body, 'connectors')
      .filter(({ domains }) => domains.includes('named.example.test'))
      .map((each) => each.name)
    expect(names).toEqual(['orders-api'])
    const renamed = await world.setup('namer3', [{ ...connector, name: 'other' }])
    expect(renamed.status).toBe(400)
    expect(at(renamed.body, 'details')).toContain(
      'connectors.0.name: these hosts belong to the connector orders-api',
    )
  })

  test('is free', async () => {
    const answer = await world.setup('namer4', [
      { ...generic, name: 'codehost', domains: ['taken.example.test'] },
    ])
    expect(answer.status).toBe(409)
    expect(at(answer.body, 'message')).toBe('A connector named codehost already exists. Choose another name.')
  })

  test('is a DNS label', async () => {
    const answer = await world.setup('namer5', [
      { ...generic, name: 'default/x', domains: ['slash.example.test'] },
    ])
    expect(at(answer.body, 'details')).toContain('connectors.0.name: can contain only lower-case letters')
  })
})

describe('the wizard', () => {
  test('locks the version of the configuration last, as all other changes do', async () => {
    await world.newAgent('moved')
    const connector = {
      type: 'generic',
      token: 't',
      domains: ['order.example.test'],
      accessRule: 'read_only',
    }
    const wizard = { gateway: { name: 'order' }, connectors: [connector] }
    expect((await world.admin('POST', '/api/dashboard/gateway', wizard)).status).toBe(200)
    const other = new pg.Client({ connectionString: world.database.adminUrl })
    await other.connect()
    try {
      await other.query('begin')
      await other.query('select id from connectors for update')
      const moving = world.admin('POST', '/api/dashboard/gateway', { ...wizard, agent: { name: 'moved' } })
      await eventually('the wizard waits for the connector', async () => {
        const { rowCount } = await world.asAdmin(
          `select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
        return rowCount === 1 ? true : null
      })
      await other.query('update config_version set version = version + 1')
      await other.query('commit')
      expect((await moving).status).toBe(200)
    } finally {
      await other.end()
    }
  })

  test('builds a gateway that can enrol, with an agent of its own', async () => {
    const answer = await world.admin('POST', '/api/dashboard/gateway', {
      gateway: { name: 'edge', host: '10.0.0.5', port: 9443, enforcementLevel: 'monitor' },
      agent: { name: 'edge-agent', create: true },
      connectors: [{ type: 'llm_a', token: 'sk-canary-edge', accessRule: 'require_approval' }],
    })
    expect(answer.body).toMatchObject({
      ok: true,
      gateway_id: expect.stringMatching(/^gw_/),
      gateway_name: 'edge',
      api_key: expect.stringMatching(/^svc_test_/),
    })
    const { body } = await world.admin('GET', '/api/dashboard/gateway')
    const edge = at<{ name: string }[]>(body, 'gateways').find((gateway) => gateway.name === 'edge')
    expect(edge).toMatchObject({
      host: '10.0.0.5',
      port: 9443,
      status: 'stopped',
      enforcementLevel: 'monitor',
      live: null,
    })

    const enrol = caller(world.plane.url, {
      authorization: `Bearer ${at(answer.body, 'gateway_token')}`,
      'x-process-id': 'proc_1',
    })
    expect(
      (await enrol('POST', '/api/gateway/ack', { version: 1, applied_at: new Date().toISOString() })).status,
    ).toBe(200)
    expect(
      (
        await caller(world.plane.url, { authorization: 'Bearer wrong', 'x-process-id': 'proc_1' })(
          'POST',
          '/api/gateway/ack',
          {},
        )
      ).status,
    ).toBe(401)
  })

  test('makes connectors that refuse in the format of the provider where its SDKs need it', async () => {
    const types = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat'] as const
    const connectors = [
      ...types.map((type) => ({ type, token: 'canary-shape', accessRule: 'read_only' })),
      { type: 'generic', token: 'canary-shape', accessRule: 'read_only', domains: ['shape.example.com'] },
    ]
    const body = { gateway: { name: 'shaped' }, connectors }
    expect((await world.admin('POST', '/api/dashboard/gateway', body)).status).toBe(200)
    const { rows: shapes } = await world.asAdmin(
      `select c.type, c.spec->>'errorShape' as shape from connectors c join gateways g on g.id = any (c.gateway_ids)
       where g.name like '%shaped' order by c.type`,
    )
    expect(Object.fromEntries(shapes.map(({ type, shape }) => [type, shape]))).toEqual({
      ...{ codehost: 'service', generic: 'service' },
      ...{ chat: 'provider', llm_a: 'provider', llm_b: 'provider', llm_c: 'provider', payments: 'provider' },
    })
  })

  test('without an agent answers a null key; with an unknown one says so', async () => {
    const body = { gateway: { name: 'quiet' }, connectors: [] }
    expect((await world.admin('POST', '/api/dashboard/gateway', body)).body).toMatchObject({
      ok: true,
      api_key: null,
    })
    const unknown = await world.admin('POST', '/api/dashboard/gateway', {
      ...body,
      gateway: { name: 'quiet2' },
      agent: { name: 'ghost', create: false },
    })
    expect(unknown.status).toBe(400)
    expect(at(unknown.body, 'details')).toContain('agent.name: there is no agent named ghost')
  })
})

describe('a gateway', () => {
  test('changes its level with a reason in the audit log', async () => {
    const id = await world.gatewayId('quiet')
    const answer = await world.admin('PATCH', '/api/dashboard/gateway', {
      gateway_id: id,
      enforcementLevel: 'monitor',
      reason: 'trial',
    })
    expect(answer.body).toMatchObject({ ok: true, gateway: { enforcementLevel: 'monitor' } })
    const { rows } = await world.asAdmin(
      "select details from audit_events where event_type = 'gateway.updated' order by id desc limit 1",
    )
    expect(rows[0]?.details).toMatchObject({
      change: 'enforcement',
      level: 'monitor',
      previous: 'full_enforce',
      reason: 'trial',
    })
    expect(
      (await world.admin('PATCH', '/api/dashboard/gateway', { gateway_id: id, enforcementLevel: 'off' }))
        .status,
    ).toBe(400)
    expect((await world.admin('PATCH', '/api/dashboard/gateway', { gateway_id: id })).status).toBe(400)
    expect(
      (await world.admin('PATCH', '/api/dashboard/gateway', { gateway_id: 'gw_none', port: 1 })).status,
    ).toBe(404)
  })
})
