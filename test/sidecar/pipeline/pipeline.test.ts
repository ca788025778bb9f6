import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { replyJson, replyNever, replySse } from '../../support/recorder.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { journalFailure, killAll, type Rules, SECRET, startWorld, type World } from './test-world.ts'

const worlds: World[] = []
afterEach(async () => {
  for (const world of worlds.splice(0)) await world[Symbol.asyncDispose]()
})

async function start(rules: Rules = {}): Promise<World> {
  const world = await startWorld(rules)
  worlds.push(world)
  return world
}

/** Every refusal: answered by us, nothing upstream, one record, no intent, nothing left registered. */
function expectRefused(world: World): void {
  expect(world.upstream.seen).toEqual([])
  expect(world.upstream.connections).toBe(0)
  expect(world.records).toHaveLength(1)
  expect(world.intents).toEqual([])
  expect(world.live.size).toBe(0)
}

const MERGE: TestExchangeInput = { method: 'PUT', target: '/repos/acme/site/pulls/7/merge' }
const LIST: TestExchangeInput = { method: 'GET', target: '/repos/acme/site/issues' }
const JSON_BODY = ['Content-Type', 'application/json']

describe('an allowed request', () => {
  it('reaches upstream once with our credential and none of the agent, and has one record with its intent', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    const exchange = await world.send({
      ...MERGE,
      target: `${MERGE.target}?access_token=own`,
      headers: ['Authorization', 'token own', 'Cookie', 'a=own', 'X-Api-Key', 'own', ...JSON_BODY],
      body: '{"sha":"abc"}',
    })
    expect(exchange.reply.status).toBe(200)
    const [seen] = await world.upstream.received(1)
    expect(seen?.target).toBe(MERGE.target)
    expect(seen?.header('host')).toBe('api.github.com')
    expect(seen?.header('authorization')).toBe(`token ${SECRET}`)
    expect(seen?.body.toString()).toBe('{"sha":"abc"}')
    expect(JSON.stringify(seen?.rawHeaders)).not.toContain('own')
    expect(world.records).toHaveLength(1)
    expect(world.intents).toHaveLength(1)
    expect(world.records[0]).toMatchObject({
      agent: 'builder',
      connector: 'codehost',
      action_type: 'codehost.pr.merge',
      decision: 'ALLOW',
      would: null,
      status: 200,
      host: 'api.github.com',
      permission: 'perm_0',
      bytes_in: 13,
      snapshot_version: 1,
      act_id: null,
      why: null,
    })
    expect(world.records[0]?.id).toBe(world.intents[0]?.id)
    expect(world.records[0]?.seq).toBe(world.intents[0]?.seq)
    expect(world.records[0]?.path).not.toContain('own')
    expect(JSON.stringify(world.records)).not.toContain(SECRET)
    expect(world.records[0]?.overhead_ms).toBeLessThanOrEqual(world.records[0]?.latency_ms ?? 0)
  })

  it('forwards the encoded slash of a branch name byte for byte', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    const target = '/repos/acme/site/git/refs/heads%2Ffeature%2Fa%20b'
    await world.send({ method: 'DELETE', target })
    expect(world.upstream.seen[0]?.target).toBe(target)
    expect(world.records[0]?.action_type).toBe('codehost.branch.delete')
  })

  it('records an upstream failure as allowed, with its status and error type', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    await world.upstream.close()
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(502)
    expect(exchange.reply.json()).toMatchObject({ error: 'upstream failed', error_type: 'connect' })
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ decision: 'ALLOW', status: 502, error_type: 'connect' })
  })

  it('refuses an upstream at a private address unless the connector allows it, as 502 before a credential is sent', async () => {
    const world = await start({
      permissions: [['codehost.*', 'allow']],
      connectors: [{ upstream: { allowPrivateAddresses: false, url: 'https://127.0.0.1:1' } }],
    })
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(502)
    expect(exchange.reply.json()).toMatchObject({ error: 'upstream address refused' })
    expect(world.upstream.connections).toBe(0)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason: 'address', status: 502 })
  })
})

describe('a denied request', () => {
  it('is answered 403 with everything that explains it', async () => {
    const world = await start({ permissions: [['codehost.pr.merge', 'deny']] })
    const exchange = await world.send(MERGE)
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()).toMatchObject({
      error: 'denied',
      message: expect.stringContaining('codehost.pr.merge'),
      decision: 'deny',
      action_type: 'codehost.pr.merge',
      reason: expect.any(String),
      request_id: exchange.id,
      matched_policies: [],
      matched_permission: 'perm_0',
      explain: expect.stringContaining('perm_0'),
    })
    expect(exchange.reply.header('x-service-decision')).toBe('deny')
    expect(exchange.reply.header('x-request-id')).toBe(exchange.id)
    expect(exchange.reply.header('x-service-error')).toBe('denied')
    expectRefused(world)
    expect(world.records[0]).toMatchObject({
      decision: 'DENY',
      reason: 'permission',
      status: 403,
      act_id: expect.stringMatching(/^act_/),
      why: { source: 'permission', pattern: 'codehost.pr.merge', rules: [], approver_groups: [] },
    })
    expect(exchange.reply.json()).toMatchObject({ reason: world.records[0]?.why?.reason })
  })

  it('is denied when no permission matches', async () => {
    const world = await start()
    expect((await world.send(MERGE)).reply.status).toBe(403)
    expectRefused(world)
  })

  it('names the policy that denied it', async () => {
    const world = await start({
      permissions: [['codehost.*', 'allow']],
      policies: [{ document: { scope: {}, rules: [{ name: 'never', conditions: [], decision: 'deny' }] } }],
    })
    const exchange = await world.send(MERGE)
    expect(exchange.reply.json()).toMatchObject({ matched_policies: ['pol_0'] })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ reason: 'policy', policies: ['pol_0@1'] })
    expect(world.records[0]?.why).toMatchObject({ source: 'policy', rules: [{ rule: 'never' }] })
  })

  it('passes under monitor and says what would have happened', async () => {
    const world = await start({
      gateway: { enforcementLevel: 'monitor' },
      permissions: [['codehost.*', 'deny']],
    })
    expect((await world.send(MERGE)).reply.status).toBe(200)
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ decision: 'ALLOW', would: 'DENY', note: 'would deny' })
    expect(world.records[0]?.why).toMatchObject({ source: 'level' })
  })
})

describe('who is asking', () => {
  const key = 'svc_test_abc'
  const key_sha256 = createHash('sha256').update(key).digest('hex')
  const basic = (text: string) => ({
    kind: 'basic' as const,
    header: `Basic ${Buffer.from(text).toString('base64')}`,
  })

  it.each([
    ['no credentials', { kind: 'none' as const }],
    ['a wrong key', basic('builder:nope')],
    ['an unknown name', basic('nobody:nope')],
  ])('asks for proxy credentials when there are %s', async (_what, credentials) => {
    const world = await start({ agents: [{ key_sha256 }], permissions: [['codehost.*', 'allow']] })
    const exchange = await world.send({ ...LIST, credentials })
    expect(exchange.reply.status).toBe(407)
    expect(exchange.reply.header('proxy-authenticate')).toContain('Basic realm="chaperone"')
    expect(exchange.reply.json()).toMatchObject({ error: 'proxy authentication required' })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ agent: null, decision: 'DENY', reason: 'agent', status: 407 })
  })

  it('takes the right key', async () => {
    const world = await start({ agents: [{ key_sha256 }], permissions: [['codehost.*', 'allow']] })
    expect((await world.send({ ...LIST, credentials: basic(`builder:${key}`) })).reply.status).toBe(200)
  })

  it.each(['suspended', 'revoked'] as const)('refuses a %s agent at every level', async (status) => {
    const world = await start({
      agents: [{ status }],
      gateway: { enforcementLevel: 'monitor' },
      permissions: [['codehost.*', 'allow']],
    })
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['message']).toContain(status)
    expectRefused(world)
  })
})

describe('guards', () => {
  it('answers 503 with Retry-After until the first rules are there', async () => {
    const world = await start()
    world.state.snapshot = null
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(503)
    expect(exchange.reply.header('retry-after')).toBe('1')
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ reason: 'not_ready', snapshot_version: null })
  })

  it.each([
    ['all', 'all'],
    ['the connector type', 'connector:codehost'],
    ['the connector record', 'team/github'],
    ['the agent', 'agent:builder'],
  ])('is stopped by the kill switch for %s, at every level and uncounted', async (_what, scope) => {
    const world = await start({
      gateway: { enforcementLevel: 'monitor' },
      permissions: [['codehost.*', 'allow']],
    })
    world.state.kill = [{ ...killAll(), scope }]
    const take = vi.spyOn(world.ports.rate, 'take')
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['error']).toBe('Kill switch active: incident 7')
    expect(take).not.toHaveBeenCalled()
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason: 'kill_switch' })
  })

  it('answers the rate limit as specified', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.state.rate = { ok: false, retryAfterS: 17 }
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(429)
    expect(exchange.reply.header('retry-after')).toBe('17')
    expect(exchange.reply.json()).toMatchObject({ error: 'rate limit exceeded', retry_after: 17 })
    expectRefused(world)
  })

  it('limits how many requests of one agent run at once, and lets go when they end', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.upstream.answerWith(replyNever())
    const running = Array.from({ length: 256 }, () => testExchange(LIST))
    const done = running.map((exchange) => world.run(exchange))
    const refused = await world.send(LIST)
    expect(refused.reply.status).toBe(429)
    for (const exchange of running) exchange.abort.abort()
    await Promise.all(done)
    world.upstream.answerWith(replyJson({}))
    expect((await world.send(LIST)).reply.status).toBe(200)
    expect(world.records).toHaveLength(258)
  })

  it.each([
    ['high_risk', { method: 'DELETE', target: '/repos/acme/site' }, 503],
    ['high_risk', MERGE, 200],
    ['writes', MERGE, 503],
    ['writes', LIST, 200],
    ['everything', LIST, 503],
  ] as const)('with the lease at %s answers %o with %i', async (step, input, status) => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.state.lease = step
    const exchange = await world.send(input)
    expect(exchange.reply.status).toBe(status)
    expect(world.upstream.seen).toHaveLength(status === 200 ? 1 : 0)
    expect(world.records).toHaveLength(1)
  })

  it.each([
    ['cannot be written', (world: World) => (world.state.isWritable = false)],
    ['fails while writing', (world: World) => (world.state.intentError = journalFailure())],
  ])('forwards nothing when the journal %s, and denies go on', async (_what, breakIt) => {
    const world = await start({ permissions: [['codehost.issue.*', 'allow']] })
    breakIt(world)
    const exchange = await world.send({
      method: 'POST',
      target: '/repos/acme/site/issues',
      body: '{}',
      headers: JSON_BODY,
    })
    expect(exchange.reply.status).toBe(503)
    expect(exchange.reply.json()['error']).toBe('journal unavailable')
    expectRefused(world)
    expect((await world.send(MERGE)).reply.status).toBe(403)
  })

  it('turns an error of our own into a 500 without its message, and forwards nothing', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.state.intentError = new Error('internal canary')
    const exchange = await world.send(LIST)
    expect(exchange.reply.status).toBe(500)
    expect(exchange.reply.text()).not.toContain('canary')
    expectRefused(world)
  })
})

describe('reading', () => {
  it.each([
    ['GET', '//evil.example/x', 400],
    ['PUT', '/repos/o/r/pulls/1%2Fmerge', 400],
    ['PUT', '/repos/o/r/issues/../pulls/1/merge', 400],
    ['TRACE', '/', 405],
  ])('refuses %s %s with %i', async (method, target, status) => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    const exchange = await world.send({ method, target })
    expect(exchange.reply.status).toBe(status)
    expect(exchange.reply.json()).toMatchObject({ error: expect.any(String), detail: expect.any(String) })
    expect(exchange.reply.header('connection')).toBe(status === 400 ? 'close' : undefined)
    expectRefused(world)
    expect(world.records[0]?.reason).toBe('ambiguous')
  })

  it('answers and records a head that could not be parsed', async () => {
    const world = await start()
    const exchange = {
      ...testExchange(),
      malformed: { code: 'headers_too_large' as const, detail: 'too large' },
    }
    await world.run(exchange)
    expect(exchange.reply.status).toBe(431)
    expectRefused(world)
  })
})

describe('bodies that decide', () => {
  const CLOSE: TestExchangeInput = {
    method: 'PATCH',
    target: '/repos/acme/site/issues/3',
    headers: JSON_BODY,
  }

  it('reads the body when the candidates get different verdicts', async () => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.issue.close', 'deny'],
      ],
    })
    const closed = await world.send({ ...CLOSE, body: '{"state":"closed"}' })
    expect(closed.reply.status).toBe(403)
    expectRefused(world)
    const updated = await world.send({ ...CLOSE, body: '{"title":"x"}' })
    expect(updated.reply.status).toBe(200)
    expect((await world.upstream.received(1))[0]?.body.toString()).toBe('{"title":"x"}')
    expect(world.records.map((record) => record.action_type)).toEqual([
      'codehost.issue.close',
      'codehost.issue.update',
    ])
  })

  it.each([
    ['{"state":"closed"}', 'codehost.issue.close'],
    ['{"title":"x"}', 'codehost.issue.update'],
  ])(
    'streams the body %s when the verdict is the same either way, and names the record %s',
    async (body, type) => {
      const world = await start({ permissions: [['codehost.*', 'allow']] })
      const exchange = testExchange({ ...CLOSE, body })
      const buffer = vi.spyOn(exchange.body, 'buffer')
      await world.run(exchange)
      expect(buffer).not.toHaveBeenCalled()
      expect(exchange.reply.status).toBe(200)
      expect(world.records[0]?.action_type).toBe(type)
    },
  )

  it('names the record of a body that streams by in pieces', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    for (const last of ['closed"}', 'open"}']) {
      const body = Readable.from([Buffer.from('{"title":"x","sta'), Buffer.from(`te":"${last}`)])
      await world.send({ ...CLOSE, body })
    }
    expect(world.records.map((record) => record.action_type)).toEqual([
      'codehost.issue.close',
      'codehost.issue.update',
    ])
  })

  it.each([
    ['duplicate keys', '{"state":"open","state":"closed"}', JSON_BODY, 400],
    ['an encoding', 'x', [...JSON_BODY, 'Content-Encoding', 'gzip'], 415],
    ['more than 1 MiB', JSON.stringify({ body: 'x'.repeat(1024 * 1024) }), JSON_BODY, 413],
  ])('refuses a deciding body with %s', async (_what, body, headers, status) => {
    const world = await start({
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.issue.close', 'deny'],
      ],
    })
    const exchange = await world.send({ ...CLOSE, headers, body })
    expect(exchange.reply.status).toBe(status)
    expectRefused(world)
  })

  it('reads the body when a policy asks for what is in it', async () => {
    const world = await start({
      connectors: [{ type: 'payments', name: 'team/stripe', auth: { type: 'bearer' } }],
      permissions: [['payments.*', 'allow']],
      policies: [
        {
          document: {
            rules: [{ name: 'large', conditions: ['parameters.amount > 1000'], decision: 'deny' }],
          },
        },
      ],
    })
    const charge = (amount: number) => ({
      method: 'POST',
      host: 'api.stripe.com',
      target: '/v1/charges',
      headers: ['Content-Type', 'application/x-www-form-urlencoded'],
      body: `amount=${amount}&currency=usd`,
    })
    expect((await world.send(charge(2000))).reply.status).toBe(403)
    expect(world.upstream.seen).toEqual([])
    expect((await world.send(charge(500))).reply.status).toBe(200)
  })
})

describe('hosts without connector', () => {
  const tunnel = (host: string): TestExchangeInput => ({
    method: 'CONNECT',
    target: host,
    host,
    kind: 'tunnel',
  })

  it('refuses them and says what to add', async () => {
    const world = await start()
    const exchange = await world.send(tunnel('pypi.org:443'))
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['message']).toContain('egress.allowedHosts')
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ reason: 'unknown_host', host: 'pypi.org', connector: null })
  })

  it.each([
    ['allowedHosts', { egress: { unmatchedHosts: 'deny', allowedHosts: ['*.pypi.org'], tcp: [] } }],
    ['unmatchedHosts: tunnel', { egress: { unmatchedHosts: 'tunnel', allowedHosts: [], tcp: [] } }],
    ['monitor', { enforcementLevel: 'monitor' }],
  ] as const)('lets them as far as the address guard with %s', async (_what, gateway) => {
    const world = await start({ gateway: gateway as Rules['gateway'] & object })
    world.upstream.answerWith(replyJson({}))
    const exchange = await world.send(tunnel(`127.0.0.1:${world.upstream.port}`))
    const isListed = 'egress' in gateway && gateway.egress.allowedHosts.length > 0
    expect(exchange.reply.status).toBe(isListed ? 403 : 502)
    expect(world.upstream.connections).toBe(0)
    expect(world.records).toHaveLength(1)
  })

  it('opens a passed-through connector as an action of its own', async () => {
    const world = await start({
      connectors: [{ tlsMode: 'passthrough', ports: [443] }],
      permissions: [['codehost.tunnel.open', 'allow']],
    })
    const exchange = testExchange(tunnel('api.github.com:443'))
    const done = world.run(exchange)
    await vi.waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
    exchange.abort.abort()
    await done
    expect(world.records[0]).toMatchObject({
      action_type: 'codehost.tunnel.open',
      decision: 'ALLOW',
      status: 200,
    })
  })

  it('refuses a passed-through connector that no permission opens', async () => {
    const world = await start({
      connectors: [{ tlsMode: 'passthrough' }],
      permissions: [['codehost.pr.*', 'allow']],
    })
    expect((await world.send(tunnel('api.github.com:443'))).reply.status).toBe(403)
    expectRefused(world)
  })
})

describe('credentials', () => {
  it('refuses when the connector has none, naming it and what to add', async () => {
    const world = await start({ connectors: [{ secret: null }], permissions: [['codehost.*', 'allow']] })
    const exchange = await world.send({ ...LIST, headers: ['Authorization', 'token own'] })
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['message']).toContain('team/github')
    expectRefused(world)
    expect(world.records[0]?.reason).toBe('credential')
  })

  it("lets the agent's own pass under monitor only", async () => {
    const world = await start({ connectors: [{ secret: null }], gateway: { enforcementLevel: 'monitor' } })
    await world.send({ ...LIST, headers: ['Authorization', 'token own', 'Proxy-Authorization', 'Basic x'] })
    expect(world.upstream.seen[0]?.header('authorization')).toBe('token own')
    expect(world.upstream.seen[0]?.header('proxy-authorization')).toBeUndefined()
  })

  it('takes a token out of a form and sends the right length', async () => {
    const world = await start({
      connectors: [{ type: 'chat', name: 'team/slack', auth: { type: 'bearer' } }],
      permissions: [['chat.*', 'allow']],
    })
    await world.send({
      method: 'POST',
      host: 'slack.com',
      target: '/api/chat.postMessage',
      headers: ['Content-Type', 'application/x-www-form-urlencoded'],
      body: 'channel=C1&token=own&text=hi',
    })
    const [seen] = await world.upstream.received(1)
    expect(seen?.body.toString()).toBe('channel=C1&text=hi')
    expect(seen?.header('content-length')).toBe('18')
    expect(seen?.header('authorization')).toBe(`Bearer ${SECRET}`)
  })
})

describe('upgrades', () => {
  const SOCKET: TestExchangeInput = {
    kind: 'upgrade',
    target: '/socket',
    headers: [
      'Connection',
      'Upgrade',
      'Upgrade',
      'websocket',
      'Sec-WebSocket-Version',
      '13',
      'Sec-WebSocket-Key',
      'dGhlIHNhbXBsZSBub25jZQ==',
    ],
  }

  it('are an action of their own and carry the credential', async () => {
    const world = await start({ permissions: [['codehost.websocket.open', 'allow']] })
    const exchange = testExchange(SOCKET)
    const done = world.run(exchange)
    await vi.waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
    expect(world.upstream.seen[0]?.header('authorization')).toBe(`token ${SECRET}`)
    exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await done
    await vi.waitFor(() => expect(world.upstream.openConnections).toBe(0))
    expect(world.records[0]).toMatchObject({
      action_type: 'codehost.websocket.open',
      status: 101,
      note: 'stopped by kill switch',
      reason: 'kill_switch',
      act_id: expect.any(String),
    })
  })

  it('are refused without a permission of their own', async () => {
    const world = await start({ permissions: [['codehost.issue.*', 'allow']] })
    expect((await world.send(SOCKET)).reply.status).toBe(403)
    expectRefused(world)
  })
})

describe('holds', () => {
  const HELD: Rules = { permissions: [['codehost.*', 'require_approval']] }

  it('shows the approver the canonical request and forwards it after the yes', async () => {
    const world = await start(HELD)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_9', by: 'ann@example.com' })
    const exchange = await world.send({ ...MERGE, headers: JSON_BODY, body: '{"merge_method":"squash"}' })
    expect(exchange.reply.status).toBe(200)
    expect(world.holds).toHaveLength(1)
    expect(world.holds[0]).toMatchObject({
      agent: 'builder',
      connector: 'codehost',
      action_type: 'codehost.pr.merge',
      target: 'acme/site',
      method: 'PUT',
      host: 'api.github.com',
      path: MERGE.target,
      body_sha256: createHash('sha256').update('{"merge_method":"squash"}').digest('hex'),
      binding: expect.stringMatching(/^[0-9a-f]{64}$/),
      act_id: expect.stringMatching(/^act_/),
    })
    expect((await world.upstream.received(1))[0]?.body.toString()).toBe('{"merge_method":"squash"}')
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({
      decision: 'ALLOW',
      note: 'approved',
      approval_id: 'apv_9',
      status: 200,
    })
  })

  it('binds to agent, path, query and body', async () => {
    const world = await start(HELD)
    for (const input of [
      MERGE,
      { ...MERGE, headers: JSON_BODY, body: '{}' },
      { ...MERGE, target: `${MERGE.target}?a=1` },
      LIST,
      MERGE,
    ]) {
      await world.send(input)
    }
    const bindings = world.holds.map((hold) => hold.binding)
    expect(new Set(bindings).size).toBe(4)
    expect(bindings[4]).toBe(bindings[0])
  })

  it.each([
    ['denied', 403, 'approval denied', 'approval_denied'],
    ['expired', 403, 'approval expired', 'approval_expired'],
    ['cancelled', 403, 'approval denied', 'approval_denied'],
  ] as const)('answers %s with %i %s', async (kind, status, error, reason) => {
    const world = await start(HELD)
    world.state.onHold = async () => ({ kind, approvalId: 'apv_9', note: 'not today' })
    const exchange = await world.send(MERGE)
    expect(exchange.reply.status).toBe(status)
    expect(exchange.reply.json()).toMatchObject({ error, approval_id: 'apv_9' })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason, approval_id: 'apv_9' })
  })

  it.each([
    ['the kill switch', (world: World) => (world.state.kill = [killAll()]), 403],
    ['a suspended agent', (world: World) => world.apply({ ...HELD, agents: [{ status: 'suspended' }] }), 403],
    [
      'another agent of that name',
      (world: World) => world.apply({ ...HELD, agents: [{ id: 'agent_2' }] }),
      403,
    ],
    ['a new deny', (world: World) => world.apply({ permissions: [['codehost.pr.merge', 'deny']] }), 403],
    ['a removed connector', (world: World) => world.apply({ ...HELD, connectors: [] }), 403],
  ] as const)('is overruled after the yes by %s', async (_what, change, status) => {
    const world = await start(HELD)
    world.state.onHold = async () => {
      change(world)
      return { kind: 'approved', approvalId: 'apv_9', by: null }
    }
    const exchange = await world.send(MERGE)
    expect(exchange.reply.status).toBe(status)
    expectRefused(world)
    expect(world.records[0]?.decision).toBe('DENY')
  })

  it('asks again when the rules for it changed while a person thought', async () => {
    const world = await start(HELD)
    const changed: Rules = {
      ...HELD,
      policies: [{ document: { rules: [{ name: 'new', conditions: [], decision: 'require_approval' }] } }],
    }
    world.state.onHold = async () => {
      world.apply(changed)
      return { kind: 'approved', approvalId: `apv_${world.holds.length}`, by: null }
    }
    expect((await world.send(MERGE)).reply.status).toBe(200)
    expect(world.holds).toHaveLength(2)
    expect(world.records[0]?.approval_id).toBe('apv_2')
  })

  it('records an abandoned hold as HOLD, and sends nothing', async () => {
    const world = await start(HELD)
    world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_9' })),
      )
    const exchange = testExchange(MERGE)
    const done = world.run(exchange)
    await vi.waitFor(() => expect(world.holds).toHaveLength(1))
    exchange.abort.abort()
    await done
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'HOLD', approval_id: 'apv_9', status: null })
  })

  it('answers a held request that the kill switch cuts', async () => {
    const world = await start(HELD)
    world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_9' })),
      )
    const exchange = testExchange(MERGE)
    const done = world.run(exchange)
    await vi.waitFor(() => expect(world.holds).toHaveLength(1))
    exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await done
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['error']).toBe('Kill switch active: incident 7')
    expectRefused(world)
  })

  it('refuses a held body above 8 MiB', async () => {
    const world = await start(HELD)
    const body = Buffer.alloc(8 * 1024 * 1024 + 1)
    const exchange = await world.send({ ...MERGE, headers: JSON_BODY, body })
    expect(exchange.reply.status).toBe(413)
    expectRefused(world)
    expect(world.holds).toEqual([])
  })
})

describe('the kill switch during an answer', () => {
  it('cuts an open stream and says so in its record', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    world.upstream.answerWith(replySse(100_000, 5))
    const exchange = testExchange(LIST)
    const done = world.run(exchange)
    await vi.waitFor(() => expect(exchange.reply.chunks.length).toBeGreaterThan(2))
    exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await done
    expect(exchange.reply.state).toBe('destroyed')
    await vi.waitFor(() => expect(world.upstream.openConnections).toBe(0))
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({
      status: 200,
      note: 'stopped by kill switch',
      reason: 'kill_switch',
    })
  })
})

describe('the form of a refusal', () => {
  const MCP: Rules = {
    connectors: [{ type: 'mcp', name: 'team/mcp', domains: ['mcp.example.com'], auth: { type: 'bearer' } }],
    permissions: [['mcp.tools.list', 'allow']],
  }
  const call = (body: unknown): TestExchangeInput => ({
    method: 'POST',
    host: 'mcp.example.com',
    target: '/mcp',
    headers: [...JSON_BODY, 'Accept', 'application/json, text/event-stream'],
    body: JSON.stringify(body),
  })
  const DELETE_CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'delete_repo' } }

  it('is a JSON-RPC error for an MCP request with an id', async () => {
    const world = await start(MCP)
    const exchange = await world.send(call(DELETE_CALL))
    expect(exchange.reply.status).toBe(200)
    expect(exchange.reply.json()).toMatchObject({
      jsonrpc: '2.0',
      id: 7,
      error: {
        code: -32001,
        message: expect.stringContaining('mcp.tools.delete_repo'),
        data: { error: 'denied' },
      },
    })
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', status: 200 })
  })

  it('is one JSON-RPC error per request of a batch', async () => {
    const world = await start(MCP)
    const list = { jsonrpc: '2.0', id: 'a', method: 'tools/list' }
    const note = { jsonrpc: '2.0', method: 'notifications/initialized' }
    const exchange = await world.send(call([list, note, DELETE_CALL]))
    expect(exchange.reply.status).toBe(200)
    expect(JSON.parse(exchange.reply.text()).map((each: { id: unknown }) => each.id)).toEqual(['a', 7])
    expectRefused(world)
  })

  it('stays 403 for an MCP notification', async () => {
    const world = await start(MCP)
    const exchange = await world.send(call({ jsonrpc: '2.0', method: 'notifications/cancelled' }))
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
  })

  it.each([
    ['codehost', 'api.github.com', '/user', 403, (body: Record<string, unknown>) => body['message']],
    [
      'llm_a',
      'api.openai.com',
      '/v1/models',
      403,
      (body: { error: { message: string } }) => body.error.message,
    ],
    [
      'llm_b',
      'api.anthropic.com',
      '/v1/models',
      403,
      (body: { error: { message: string } }) => body.error.message,
    ],
    [
      'payments',
      'api.stripe.com',
      '/v1/balance',
      403,
      (body: { error: { message: string } }) => body.error.message,
    ],
    ['chat', 'slack.com', '/api/users.list', 200, (body: { error: string }) => body.error],
  ] as const)("is %s's own when the connector asks for it", async (type, host, target, status, text) => {
    const world = await start({
      connectors: [{ type, name: 'x', errorShape: 'provider', auth: { type: 'bearer' } }],
    })
    const exchange = await world.send({ host, target })
    expect(exchange.reply.status).toBe(status)
    expect(text(exchange.reply.json() as never)).toContain('No permission matches')
    expectRefused(world)
  })

  it('is plain text for git', async () => {
    const world = await start()
    const exchange = await world.send({ ...LIST, headers: ['User-Agent', 'git/2.45'] })
    expect(exchange.reply.header('content-type')).toContain('text/plain')
    expectRefused(world)
  })
})
