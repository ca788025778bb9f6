import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { replySse } from '../../support/recorder.ts'
import { agentEntry, emptySections } from '../control/fake-control-plane.ts'
import { AGENT_KEY, permission, startGatewayWorld } from './gateway-world.ts'

const until = (what: string, isMet: () => boolean) => eventually(what, () => (isMet() ? true : null))

describe('the gateway', () => {
  test('forwards an allowed request with the injected credential, and uploads exactly one record', async () => {
    await using world = await startGatewayWorld()
    const answer = await world.proxied('GET', '/things')
    expect(answer.status).toBe(200)
    expect(world.upstream.seen[0]?.header('authorization')).toBe('Bearer upstream-secret')
    await until('record', () => world.fake.records.length === 1)
    expect(world.fake.records[0]).toMatchObject({
      agent: 'bot',
      action_type: 'generic.get',
      decision: 'ALLOW',
      status: 200,
    })
    expect(world.log()).not.toContain('upstream-secret')
  })

  test('the 121st request of a minute is refused with the exact time after which the next one passes', async () => {
    await using world = await startGatewayWorld({
      prepare: (fake) => {
        const section = emptySections()['gateway'] as object
        fake.configure({ gateway: { ...section, rateLimit: { requestsPerMinute: 120 } } })
      },
    })
    await until('the limit', () => world.fake.acks.some((ack) => ack.version === world.fake.version))
    const real = performance.now.bind(performance)
    let aheadMs = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => real() + aheadMs)
    try {
      const startedAt = real()
      for (let i = 0; i < 120; i += 1) expect((await world.proxied('GET', '/things')).status).toBe(200)
      const refused = await world.proxied('GET', '/things')
      const answeredMs = real() - startedAt
      expect(refused.status).toBe(429)
      const retryAfter = Number(refused.headers['retry-after'])
      expect(JSON.parse(refused.text)).toMatchObject({
        error: 'rate limit exceeded',
        retry_after: retryAfter,
      })
      expect(retryAfter).toBeLessThanOrEqual(60)
      expect(retryAfter).toBeGreaterThanOrEqual(60 - Math.ceil(answeredMs / 1_000))
      expect(world.upstream.seen).toHaveLength(120)
      // Whole seconds, rounded up: what passes then may pass up to a second earlier, but not more.
      aheadMs = (retryAfter - 1) * 1_000 - (real() - startedAt)
      expect((await world.proxied('GET', '/things')).status).toBe(429)
      expect(world.upstream.seen).toHaveLength(120)
      aheadMs = retryAfter * 1_000
      expect((await world.proxied('GET', '/things')).status).toBe(200)
      expect(world.upstream.seen).toHaveLength(121)
    } finally {
      clock.mockRestore()
    }
  })

  test('refuses a denied request; the upstream sees nothing, and one record exists', async () => {
    await using world = await startGatewayWorld({ permissions: [permission('generic.*', 'deny')] })
    expect((await world.proxied('GET', '/things')).status).toBe(403)
    await until('record', () => world.fake.records.length === 1)
    expect(world.fake.records[0]).toMatchObject({ decision: 'DENY', reason: 'permission' })
    expect(world.upstream.seen).toHaveLength(0)
  })

  test('holds a request until it is approved, then forwards it once', async () => {
    await using world = await startGatewayWorld({
      permissions: [permission('generic.*', 'require_approval')],
    })
    const answer = world.proxied('POST', '/things', { body: '{"a":1}' })
    await until('hold', () => world.fake.pendingHolds().length === 1)
    expect(world.upstream.seen).toHaveLength(0)
    world.fake.respond(world.fake.pendingHolds()[0]?.id ?? '', 'approved')
    expect((await answer).status).toBe(200)
    expect(world.upstream.seen).toHaveLength(1)
    await until('record', () => world.fake.records.length === 1)
    expect(world.fake.records[0]).toMatchObject({ note: 'approved', decision: 'ALLOW' })
  })

  test.each([
    ['suspended', [{ ...agentEntry('bot', AGENT_KEY), status: 'suspended' }]],
    ['revoked', [{ ...agentEntry('bot', AGENT_KEY), status: 'revoked' }]],
    ['removed', []],
  ])(
    'an agent that is %s loses the streams that it has open, and another one keeps its own',
    async (status, agents) => {
      const other = agentEntry('other', 'svc_test_other')
      await using world = await startGatewayWorld({
        prepare: (fake) => fake.configure({ agents: [agentEntry('bot', AGENT_KEY), other] }),
      })
      await until('both', () => world.fake.acks.some((ack) => ack.version === world.fake.version))
      world.upstream.answerWith(replySse(100_000, 5))
      const leave = new AbortController()
      const auth = `Basic ${Buffer.from('other:svc_test_other').toString('base64')}`
      const kept = world
        .proxied('GET', '/kept', { auth, signal: leave.signal })
        .catch((error: unknown) => error)
      const cut = world.proxied('GET', '/stream').catch((error: unknown) => error)
      await world.upstream.received(2)
      world.fake.configure({ agents: [...agents, other] })
      expect(await cut).toBeInstanceOf(Error)
      await until('the record', () => world.fake.records.length > 0)
      expect(world.fake.records).toMatchObject([{ agent: 'bot', path: '/stream', note: `agent ${status}` }])
      expect(world.upstream.openConnections).toBe(1)
      leave.abort()
      await kept
    },
  )

  test('the kill switch ends held requests and open streams and refuses new ones', async () => {
    await using world = await startGatewayWorld({
      permissions: [permission('generic.get', 'allow'), permission('generic.post', 'require_approval')],
    })
    world.upstream.answerWith(replySse(100_000, 5))
    const stream = world.proxied('GET', '/stream').catch((error: unknown) => error)
    await world.upstream.received(1)
    const held = world.proxied('POST', '/things', { body: '{}' })
    await until('hold', () => world.fake.pendingHolds().length === 1)
    const seq = world.fake.kill([
      { scope: 'all', source: 'api', reason: 'incident', since: new Date().toISOString() },
    ])
    const refused = await held
    expect(refused.status).toBe(403)
    expect(JSON.parse(refused.text).error).toMatch(/^Kill switch active:/)
    expect(await stream).toBeInstanceOf(Error)
    await until('ack', () => world.fake.acks.some((ack) => ack.kill_seq === seq))
    const seen = world.upstream.seen.length
    expect((await world.proxied('GET', '/more')).status).toBe(403)
    expect(world.upstream.seen).toHaveLength(seen)
  })

  test('answers 503 until the control plane is reachable, then serves', async () => {
    await using world = await startGatewayWorld()
    const { port } = world.fake
    await world.fake.stop()
    await world.restart()
    const answer = await world.proxied('GET', '/things')
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBeDefined()
    expect((await world.api('GET', '/health')).status).toBe(503)
    expect(world.upstream.seen).toHaveLength(0)
    const { FakeControlPlane } = await import('../control/fake-control-plane.ts')
    await using back = await FakeControlPlane.start({ port })
    back.configure(world.fake.sections)
    await eventually('service', async () =>
      (await world.proxied('GET', '/things')).status === 200 ? true : null,
    )
    await until('the refused request is recorded too', () =>
      back.records.some((record) => record.status === 503),
    )
  })

  test('an agent keeps its port and port key across a restart', async () => {
    await using world = await startGatewayWorld()
    const registered = JSON.parse(
      (await world.api('POST', '/internal/agents/register', { body: { name: 'bot' } })).text,
    )
    const url = new URL(registered.proxy_url)
    expect([registered.ok, url.host, url.username]).toEqual([
      true,
      `127.0.0.1:${registered.proxy_port}`,
      'bot',
    ])
    const auth = `Basic ${Buffer.from(`${url.username}:${url.password}`).toString('base64')}`
    expect(registered.ca_pem).toContain('BEGIN CERTIFICATE')
    const again = JSON.parse(
      (await world.api('POST', '/internal/agents/register', { body: { name: 'bot' } })).text,
    )
    expect(again.proxy_url).toBe(registered.proxy_url)
    await world.restart()
    const port = registered.proxy_port
    expect((await world.proxied('GET', '/things', { port, auth })).status).toBe(200)
    expect((await world.proxied('GET', '/things', { port, auth: null })).status).toBe(407)
    expect((await world.proxied('GET', '/things', { auth: null })).status).toBe(407)
    await world.api('POST', '/internal/agents/deregister', { body: { name: 'bot' } })
    await expect(world.proxied('GET', '/things', { port, auth })).rejects.toThrow()
  })

  test('lists and counts active agents only', async () => {
    const of = (name: string, status: string) => ({ ...agentEntry(name), status })
    await using world = await startGatewayWorld({
      agents: [of('away', 'suspended'), of('gone', 'revoked'), of('second', 'active')],
    })
    const { agents } = JSON.parse((await world.api('GET', '/internal/agents')).text)
    expect(agents.map(({ name }: { name: string }) => name).toSorted()).toEqual(['bot', 'second'])
    expect(JSON.parse((await world.api('GET', '/health')).text).agents).toBe(2)
  })

  test('stops: holds are answered with 503 and everything is uploaded', async () => {
    await using world = await startGatewayWorld({
      permissions: [permission('generic.*', 'require_approval')],
    })
    const held = world.proxied('POST', '/things', { body: '{}' })
    await until('hold', () => world.fake.pendingHolds().length === 1)
    await world.gateway.close()
    expect((await held).status).toBe(503)
    expect(world.fake.records).toHaveLength(1)
    expect(readdirSync(join(world.dir, 'journal'))).toEqual([])
    expect(world.upstream.seen).toHaveLength(0)
    await world.restart()
  })

  test('two gateways on one data folder: the second refuses to start and says why', async () => {
    await using world = await startGatewayWorld()
    const { createGateway } = await import('../../../sidecar/gateway.ts')
    const { readConfig } = await import('../../../sidecar/config.ts')
    const { pino } = await import('pino')
    const config = readConfig({
      ...{ PORT: '0', CONTROL_PLANE_URL: world.fake.url, DATA_DIR: world.dir },
      GATEWAY_TOKEN_FILE: join(world.dir, 'enrol.token'),
    })
    await expect(createGateway(config, pino({ level: 'silent' }))).rejects.toThrow(/in use by process/)
  })
})
