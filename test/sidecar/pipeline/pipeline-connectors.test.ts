import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { expectRefused, LIST, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import { killAll, type Rules, SECRET } from './test-world.ts'

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

  it('are decided as a server treats them that does not support them, too', async () => {
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
