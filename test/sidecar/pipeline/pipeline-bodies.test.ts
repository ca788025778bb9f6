import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { expectRefused, JSON_BODY, LIST, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { killAll, type Rules, SECRET, type World } from './test-world.ts'

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

  it.each([
    ['{"state":"closed"}', 'codehost.issue.close'],
    ['{"title":"x"}', 'codehost.issue.update'],
  ])(
    'a refusal of %s that is here already names %s, whatever else it could have been',
    async (body, type) => {
      const world = await start({ permissions: [['codehost.*', 'deny']] })
      const exchange = await world.send({ ...CLOSE, body })
      expect(exchange.reply.status).toBe(403)
      expect(exchange.reply.json()['action_type']).toBe(type)
      expect(world.records[0]?.action_type).toBe(type)
      expectRefused(world)
    },
  )

  it('names the record of a streamed body whose key is written with escapes', async () => {
    const world = await start({ permissions: [['codehost.*', 'allow']] })
    await world.send({ ...CLOSE, body: '{"st\\u0061te":"cl\\u006fsed"}' })
    expect(world.records[0]?.action_type).toBe('codehost.issue.close')
  })

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

describe('a policy for others', () => {
  const POLICY = (scope: object) => ({
    document: {
      scope,
      rules: [{ name: 'blocked', conditions: ['parameters.title == "blocked"'], decision: 'deny' }],
    },
  })
  const TWO = [{}, { id: 'agent_2', name: 'other' }]
  const OTHER = { kind: 'port', agent: 'other' } as const
  const CREATE: TestExchangeInput = {
    method: 'POST',
    target: '/repos/acme/site/issues',
    headers: JSON_BODY,
    body: '{"title":"blocked"}',
  }

  it.each([
    ['agent', { agents: ['other'] }],
    ['agent by prefix', { agents: ['oth*'] }],
    ['agent by id', { agents: ['agent_2'] }],
    ['connector', { connectors: ['team/elsewhere'] }],
  ])('has no body read when it is for another %s, even after its own was', async (_what, scope) => {
    const world = await start({
      agents: TWO,
      permissions: [['codehost.*', 'allow']],
      policies: [POLICY(scope)],
    })
    const concerned = 'agents' in scope
    if (concerned) {
      const denied = await world.send({ ...CREATE, credentials: OTHER })
      expect(denied.reply.status).toBe(403)
      expectRefused(world)
    }
    const exchange = testExchange(CREATE)
    const buffer = vi.spyOn(exchange.body, 'buffer')
    await world.run(exchange)
    expect(exchange.reply.status).toBe(200)
    expect(buffer).not.toHaveBeenCalled()
    if (concerned) expect((await world.send({ ...CREATE, credentials: OTHER })).reply.status).toBe(403)
  })

  it.each([
    ['agent', { agents: ['builder'] }],
    ['connector', { connectors: ['team/github'] }],
    ['type of connector', { connectors: ['codehost'] }],
  ])('still has it read when its scope names the %s', async (_what, scope) => {
    const world = await start({
      agents: TWO,
      permissions: [['codehost.*', 'allow']],
      policies: [POLICY(scope)],
    })
    expect((await world.send(CREATE)).reply.status).toBe(403)
    expectRefused(world)
  })
})

describe('rules that change while a body is still coming', () => {
  const SPLIT: Rules['permissions'] = [
    ['codehost.*', 'allow'],
    ['codehost.issue.close', 'deny'],
  ]
  const FORM = {
    connectors: [{ type: 'chat', name: 'team/slack', auth: { type: 'bearer' } }],
    permissions: [['chat.*', 'allow']],
  } as const satisfies Rules
  const DECIDES: TestExchangeInput = {
    method: 'PATCH',
    target: '/repos/acme/site/issues/3',
    headers: JSON_BODY,
  }
  const CARRIES: TestExchangeInput = {
    method: 'POST',
    host: 'slack.com',
    target: '/api/chat.postMessage',
    headers: ['Content-Type', 'application/x-www-form-urlencoded'],
  }

  /** Sends all but the last byte, lets the rules change, and sends that. */
  async function trickle(world: World, input: TestExchangeInput, text: string, change: () => void) {
    const body = new Readable({ read() {} })
    const exchange = testExchange({ ...input, body })
    const buffer = vi.spyOn(exchange.body, 'buffer')
    const done = world.run(exchange)
    body.push(text.slice(0, -1))
    await waitFor(() => expect(buffer).toHaveBeenCalled())
    change()
    body.push(text.slice(-1))
    body.push(null)
    await done
    return exchange
  }

  it.each<[string, Rules, string]>([
    ['a permission was taken back', { permissions: [['codehost.*', 'deny']] }, 'denied'],
    ['the agent was suspended', { agents: [{ status: 'suspended' }], permissions: SPLIT }, 'agent suspended'],
    [
      'the agent was replaced by another of its name',
      { agents: [{ id: 'agent_9' }], permissions: SPLIT },
      'agent unknown',
    ],
    ['the connector was taken away', { connectors: [], permissions: SPLIT }, 'denied'],
    [
      'the connector lost its credential',
      { connectors: [{ secret: null }], permissions: SPLIT },
      'connector not ready',
    ],
  ])('%s: what was decided on the old ones does not count', async (_what, rules, error) => {
    const world = await start({ permissions: SPLIT })
    const exchange = await trickle(world, DECIDES, '{"title":"x"}', () => world.apply(rules))
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['error']).toBe(error)
    expectRefused(world)
  })

  it('that is read only for the credentials in it counts as well', async () => {
    const world = await start(FORM)
    const exchange = await trickle(world, CARRIES, 'channel=C1&text=hi', () =>
      world.apply({ ...FORM, permissions: [['chat.*', 'deny']] }),
    )
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
  })

  it('a person is asked when the new rules want one, and the credential is the new one', async () => {
    const world = await start(FORM)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_7', by: 'ann' })
    const exchange = await trickle(world, CARRIES, 'channel=C1&text=hi', () =>
      world.apply({
        connectors: [{ ...FORM.connectors[0], secret: 'rotated' }],
        permissions: [['chat.*', 'require_approval']],
      }),
    )
    expect(exchange.reply.status).toBe(200)
    expect(world.holds).toHaveLength(1)
    const [seen] = await world.upstream.received(1)
    expect(seen?.header('authorization')).toBe('Bearer rotated')
    expect(seen?.body.toString()).toBe('channel=C1&text=hi')
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ approval_id: 'apv_7', snapshot_version: 2 })
  })

  it('rules that say the same let it pass once', async () => {
    const world = await start({ permissions: SPLIT })
    const exchange = await trickle(world, DECIDES, '{"title":"x"}', () => world.apply({ permissions: SPLIT }))
    expect(exchange.reply.status).toBe(200)
    expect(await world.upstream.received(1)).toHaveLength(1)
    expect(world.records).toHaveLength(1)
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
    await waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
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
    await waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
    expect(world.upstream.seen[0]?.header('authorization')).toBe(`token ${SECRET}`)
    exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await done
    await waitFor(() => expect(world.upstream.openConnections).toBe(0))
    expect(world.records[0]).toMatchObject({
      action_type: 'codehost.websocket.open',
      status: 101,
      note: 'aborted by a kill switch',
      reason: 'kill_switch',
      act_id: expect.any(String),
    })
  })

  it.each(['DELETE', 'POST', 'PUT', 'OPTIONS'])(
    'are no way to send %s under another name',
    async (method) => {
      const world = await start({
        permissions: [
          ['codehost.*', 'allow'],
          ['codehost.repo.delete', 'deny'],
        ],
      })
      const exchange = await world.send({ ...SOCKET, method, target: '/repos/acme/site' })
      expect(exchange.reply.status).toBe(400)
      expectRefused(world)
    },
  )

  it('are decided as what a server does that does not know them, too', async () => {
    const world = await start({
      connectors: [{ type: 'chat', name: 'team/slack', auth: { type: 'bearer' } }],
      permissions: [
        ['chat.*', 'allow'],
        ['chat.message.delete', 'deny'],
      ],
    })
    const chat = { ...SOCKET, host: 'slack.com', target: '/api/chat.delete?channel=C1&ts=1' }
    const exchange = await world.send(chat)
    expect(exchange.reply.status).toBe(403)
    expect(exchange.reply.json()['message']).toContain('chat.message.delete')
    expectRefused(world)
  })

  it.each(['foo', 'HTTP/2.0', 'TLS/1.0', 'h2c, websocket', 'websocket, h2c', 'websocket/13', 'websocketx'])(
    'to %s are none: the fields go, and the request is what its line says',
    async (protocol) => {
      const world = await start({
        permissions: [
          ['codehost.repo.*', 'allow'],
          ['codehost.repo.delete', 'deny'],
        ],
      })
      const headers = ['Connection', 'Upgrade', 'Upgrade', protocol]
      const denied = await world.send({ method: 'DELETE', target: '/repos/acme/site', headers })
      expect(denied.reply.status).toBe(403)
      expectRefused(world)
      const read = await world.send({ target: '/repos/acme/site', headers })
      expect(read.reply.status).toBe(200)
      const [seen] = await world.upstream.received(1)
      expect(seen?.method).toBe('GET')
      expect(seen?.header('upgrade')).toBeUndefined()
      expect(world.records.at(-1)?.action_type).toBe('codehost.repo.get')
    },
  )

  /** A server that has never heard of upgrades. */
  async function ignorant(status: number) {
    const server = createServer((_request, response) => {
      response.writeHead(status, { 'content-type': 'application/json' })
      response.end('{"private":"description"}')
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    return {
      upstream: {
        url: `http://127.0.0.1:${port}`,
        allowPrivateAddresses: true,
        allowPlaintextCredential: true,
      },
    }
  }

  it('show nothing of an answer that does not switch: it answers another question', async () => {
    const world = await start({
      connectors: [await ignorant(200)],
      permissions: [
        ['codehost.*', 'allow'],
        ['codehost.repo.get', 'deny'],
      ],
    })
    const plain = await world.send({ target: '/repos/acme/site' })
    expect(plain.reply.status).toBe(403)
    expectRefused(world)
    const exchange = await world.send({ ...SOCKET, target: '/repos/acme/site' })
    expect(exchange.reply.status).toBe(502)
    expect(exchange.reply.text()).not.toContain('description')
    expect(exchange.reply.text()).toContain('WebSocket')
  })

  it.each([401, 404, 426, 503])('show the refusal of their server with status %i', async (status) => {
    const at = await ignorant(status)
    const world = await start({ connectors: [at], permissions: [['codehost.websocket.open', 'allow']] })
    const exchange = await world.send(SOCKET)
    expect(exchange.reply.status).toBe(status)
    expect(exchange.reply.text()).toContain('description')
  })

  it('are refused without a permission of their own', async () => {
    const world = await start({ permissions: [['codehost.issue.*', 'allow']] })
    expect((await world.send(SOCKET)).reply.status).toBe(403)
    expectRefused(world)
  })
})
