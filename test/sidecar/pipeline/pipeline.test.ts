import { createHash } from 'node:crypto'
import { describe, expect, it, vi } from 'vitest'
import { replyJson, replyNever } from '../../support/recorder.ts'
import { expectRefused, JSON_BODY, LIST, MERGE, start } from './pipeline-world.ts'
import { testExchange } from './test-exchange.ts'
import { journalFailure, killAll, SECRET, type World } from './test-world.ts'

describe('an allowed request', () => {
  it('reaches upstream once with the injected credential and none of the agent, and has one record with its intent', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    const exchange = await world.send({
      ...MERGE,
      target: `${MERGE.target}?client_secret=own`,
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

describe('the identity of a request', () => {
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

  it('limits concurrent requests of one agent, and admits others when they end', async () => {
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

  it('turns an internal error into a 500 without its message, and forwards nothing', async () => {
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
    const exchange = testExchange()
    exchange.malformed = { code: 'headers_too_large', detail: 'too large' }
    await world.run(exchange)
    expect(exchange.reply.status).toBe(431)
    expectRefused(world)
  })
})
