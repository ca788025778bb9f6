import { statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { eventually } from '../../support/eventually.ts'
import { type GatewayWorld, startGatewayWorld } from '../gateway/gateway-world.ts'

let world: GatewayWorld
beforeAll(async () => {
  world = await startGatewayWorld()
})
afterAll(() => world[Symbol.asyncDispose]())
beforeEach(() => {
  world.fake.commands.length = 0
  world.fake.reply = () => ({ status: 200, body: { ok: true } })
})

const GETS = [
  '/internal/connectors',
  '/internal/permissions',
  '/internal/approvals',
  '/internal/approvals/recent',
  '/internal/metrics',
  '/internal/agents',
  '/internal/status',
  '/internal/traffic',
  '/metrics',
  '/health',
]
const permission = {
  ...{
    gateway_name: 'local',
    connector_type: 'codehost',
    action_pattern: 'codehost.pr.*',
    decision: 'allow',
  },
}
const POSTS: ReadonlyArray<readonly [path: string, command: string, body: Record<string, unknown>]> = [
  ['/internal/connectors/add', 'connectors.add', { type: 'codehost', token: 'secret-token' }],
  ['/internal/connectors/remove', 'connectors.remove', { id: 'conn_1' }],
  ['/internal/permissions/set', 'permissions.set', permission],
  ['/internal/approvals/respond', 'approvals.respond', { id: 'apv_1', approved: true, by: 'ada' }],
  ['/internal/kill-switch', 'kill-switch', { active: false }],
  ['/internal/agents/register', 'agents.register', { name: 'bot' }],
  ['/internal/agents/deregister', 'agents.deregister', { name: 'bot' }],
  ['/internal/enforcement', 'enforcement', { level: 'monitor' }],
]
const INTERNAL = [...GETS.filter((path) => path.startsWith('/internal')), ...POSTS.map(([path]) => path)]

describe('the internal API', () => {
  test('has the eighteen paths of the specification', () => {
    expect(new Set([...GETS, ...POSTS.map(([path]) => path)]).size).toBe(18)
  })

  test.each(GETS)('GET %s answers 200', async (path) => {
    expect((await world.api('GET', path)).status).toBe(200)
  })

  test.each(POSTS)(
    'POST %s is forwarded as %s and answered with the verdict',
    async (path, command, body) => {
      expect((await world.api('POST', path, { body })).status).toBe(200)
      expect(world.fake.commands.map((sent) => sent.command)).toEqual([command])
    },
  )

  test.each(POSTS)('POST %s passes a refusal of the control plane on', async (path, _command, body) => {
    world.fake.reply = () => ({
      status: 409,
      body: { error: 'Managed by 10-codehost.yaml; edit the manifest' },
    })
    const answer = await world.api('POST', path, { body })
    expect(answer.status).toBe(409)
    expect(JSON.parse(answer.text).error).toContain('edit the manifest')
  })

  test.each(POSTS)(
    'POST %s names an unknown field in a 400 and forwards nothing',
    async (path, _command, body) => {
      const answer = await world.api('POST', path, { body: { ...body, surprise: 1 } })
      expect(answer.status).toBe(400)
      expect(JSON.parse(answer.text)).toMatchObject({
        error: 'Validation failed',
        details: expect.stringContaining('surprise'),
      })
      expect(world.fake.commands).toEqual([])
    },
  )

  test.each(INTERNAL)('%s requires the bearer token', async (path) => {
    const method = POSTS.some(([posted]) => posted === path) ? 'POST' : 'GET'
    for (const token of [null, 'wrong', `${world.internalToken}x`]) {
      const answer = await world.api(method, path, { token })
      expect(answer.status).toBe(401)
      expect(answer.headers['www-authenticate']).toBe('Bearer')
    }
    expect(world.fake.commands).toEqual([])
  })

  test.each(['/health', '/metrics'])('%s needs no token', async (path) => {
    expect((await world.api('GET', path, { token: null })).status).toBe(200)
  })

  test.each([...INTERNAL, '/health', '/metrics'])(
    '%s refuses a Host that is not this machine',
    async (path) => {
      for (const host of ['evil.example', 'evil.example:9443', '127.0.0.1.evil.example', '10.0.0.1']) {
        expect((await world.api('GET', path, { headers: { host } })).status).toBe(421)
      }
    },
  )

  test('allows loopback by every name', async () => {
    for (const host of ['localhost', 'LOCALHOST:9443', '127.0.0.1:1', '127.1.2.3', '[::1]:9443']) {
      expect((await world.api('GET', '/health', { headers: { host } })).status).toBe(200)
    }
  })

  test('answers 404 for unknown paths, 405 for known ones with another method', async () => {
    expect((await world.api('GET', '/internal/nothing')).status).toBe(404)
    expect((await world.api('GET', '/other')).status).toBe(404)
    for (const [path] of POSTS) expect((await world.api('GET', path)).status).toBe(405)
    for (const path of GETS) expect((await world.api('POST', path, { body: {} })).status).toBe(405)
  })

  test('takes JSON only, and sends no CORS headers', async () => {
    const form = { 'content-type': 'text/plain', origin: 'http://evil.example' }
    const answer = await world.api('POST', '/internal/kill-switch', { body: { active: true }, headers: form })
    expect(answer.status).toBe(415)
    expect(Object.keys(answer.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
    expect((await world.api('POST', '/internal/kill-switch', { raw: '{"active":' })).status).toBe(400)
  })

  test('the token file is readable by its owner alone', () => {
    expect(statSync(join(world.dir, 'gateway.token')).mode & 0o777).toBe(0o600)
  })

  test.each(['generic', 'webhook', 'mcp'])('a %s connector needs domains', async (type) => {
    const answer = await world.api('POST', '/internal/connectors/add', { body: { type, token: 't' } })
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.text).details).toContain('domains')
  })

  test('a token is never echoed nor logged', async () => {
    const body = { type: 'codehost', token: 'canary-credential' }
    const answer = await world.api('POST', '/internal/connectors/add', { body })
    expect(answer.text).not.toContain('canary-credential')
    expect(world.log()).not.toContain('canary-credential')
  })

  test('status, health, agents and traffic have the promised fields', async () => {
    await world.proxied('GET', '/seen-in-traffic')
    const status = JSON.parse((await world.api('GET', '/internal/status')).text)
    expect(Object.keys(status).sort()).toEqual(
      [
        ...['control_plane', 'counts', 'enforcement_level', 'journal', 'kill_switches', 'lease', 'name'],
        ...['snapshot_version', 'status', 'uptime_seconds', 'version'],
      ].sort(),
    )
    expect(status).toMatchObject({
      status: 'ok',
      name: 'default/local',
      lease: 'ok',
      enforcement_level: 'full_enforce',
    })
    const health = JSON.parse((await world.api('GET', '/health')).text)
    expect(health).toEqual({
      status: 'ok',
      uptime_seconds: expect.any(Number),
      agents: 1,
      connectors: ['generic'],
    })
    const { agents } = JSON.parse((await world.api('GET', '/internal/agents')).text)
    expect(agents).toMatchObject([{ name: 'bot', agent_id: 'agent_bot', status: 'active' }])
    const { traffic } = JSON.parse((await world.api('GET', '/internal/traffic?limit=1')).text)
    expect(traffic).toMatchObject([{ path: '/seen-in-traffic', decision: 'ALLOW', agent: 'bot' }])
  })

  test.each(['0', '1001', '-1', 'x', ''])('traffic refuses the limit %o', async (limit) => {
    expect((await world.api('GET', `/internal/traffic?limit=${limit}`)).status).toBe(400)
  })
})

describe('the kill switch of the internal API', () => {
  const body = { active: true, scope: 'agent:bot', reason: 'drill' }
  const lift = { active: false, scope: 'agent:bot' }

  test('takes effect at once, returns the effective state, and can be lifted', async () => {
    const answer = JSON.parse((await world.api('POST', '/internal/kill-switch', { body })).text)
    expect(answer).toMatchObject({ ok: true, active: true, scope: 'agent:bot' })
    expect(answer.effective).toMatchObject([
      { scope: 'agent:bot', source: 'gateway:default/local', reason: 'drill' },
    ])
    const seen = world.upstream.seen.length
    expect((await world.proxied('GET', '/stopped')).status).toBe(403)
    expect(world.upstream.seen).toHaveLength(seen)
    expect((await world.api('GET', '/metrics')).text).toContain('svc_kill_switch_active{scope="agent:bot"} 1')
    await world.api('POST', '/internal/kill-switch', { body: lift })
    expect((await world.proxied('GET', '/again')).status).toBe(200)
    expect((await world.api('GET', '/metrics')).text).toContain('svc_kill_switch_active{scope="agent:bot"} 0')
  })

  test('a kill switch that was not stored is forwarded again without a reconnect, and ends when its announcement is settled', async () => {
    const sent = () => world.fake.commands.filter(({ command }) => command === 'kill-switch')
    const before = sent().length
    world.fake.reply = () => ({ status: 200, body: { ok: true, stored: false } })
    await world.api('POST', '/internal/kill-switch', { body })
    await eventually('forwarded again', () => (sent().length >= before + 2 ? true : null))
    const [, first, again] = [null, ...sent().slice(before)] as Array<{ stop?: { id: string } } | null>
    expect(again?.stop?.id).toBe(first?.stop?.id)
    const order = { epoch: 1, revision: 5 }
    world.fake.reply = () => ({ status: 200, body: { ok: true, order } })
    const settled = [`gw_1:${first?.stop?.id}`]
    world.fake.send({
      ...{ type: 'kill', seq: 1, effective: [] },
      state: { order, stored: [], announced: [], settled },
    })
    await eventually('lifted', async () =>
      (await world.proxied('GET', '/lifted')).status === 200 ? true : null,
    )
    world.fake.reply = () => ({ status: 200, body: { ok: true } })
  })

  test('a kill switch stays active when the control plane fails, but not when the control plane refuses it', async () => {
    world.fake.reply = () => ({ status: 503, body: { error: 'database away' } })
    const answer = await world.api('POST', '/internal/kill-switch', { body })
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.text)).toMatchObject({ ok: true, forwarded: false })
    const seen = world.upstream.seen.length
    expect((await world.proxied('GET', '/stopped')).status).toBe(403)
    expect(world.upstream.seen).toHaveLength(seen)
    expect((await world.api('POST', '/internal/kill-switch', { body: lift })).status).toBe(200)
    world.fake.reply = () => ({ status: 400, body: { error: 'Validation failed' } })
    expect((await world.api('POST', '/internal/kill-switch', { body })).status).toBe(400)
    await eventually('service', async () =>
      (await world.proxied('GET', '/on')).status === 200 ? true : null,
    )
  })
})
