import { afterEach, describe, expect, test } from 'vitest'
import type { Credentials } from '../../../sidecar/pipeline/credentials/credentials.ts'
import { connectionLimits } from '../../../sidecar/process/connection-limits.ts'
import {
  type RawClient,
  rawClient,
  startFront,
  type TestFront,
  type TestFrontOptions,
  until,
} from './harness.ts'

let started: TestFront | null = null
let front: TestFront
let clients: RawClient[] = []
afterEach(async () => {
  for (const { socket } of clients) socket.destroy()
  clients = []
  await started?.[Symbol.asyncDispose]()
  started = null
})

/** `Basic` of `NAME:key`; every other key is nobody's. */
function agentOf(credentials: Credentials): string | null {
  if (credentials.kind !== 'basic') return null
  const [name, key] = Buffer.from(credentials.header.slice(6), 'base64').toString().split(':')
  return key === 'key' && name !== undefined ? name : null
}
const basic = (agent: string, key = 'key'): string =>
  `Proxy-Authorization: Basic ${Buffer.from(`${agent}:${key}`).toString('base64')}\r\n`
const request = (agent: string): string =>
  `GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n${basic(agent)}\r\n`
const connect = (agent: string): string =>
  `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n${basic(agent)}\r\n`
const HEALTH = 'GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n'

async function start(limits: TestFrontOptions['limits'], more: TestFrontOptions = {}): Promise<void> {
  started = await startFront({ agentOf, limits: { ...limits }, ...more })
  front = started
}

async function open(text = '', port = front.port): Promise<RawClient> {
  const client = await rawClient(port)
  clients.push(client)
  return text === '' ? client : client.send(text)
}

async function status(client: RawClient): Promise<number> {
  await client.until(({ received, isClosed }) => received.includes('\r\n\r\n') || isClosed)
  return Number(client.received.split(' ')[1] ?? 0)
}

describe('an agent', () => {
  test('at its limit of idle connections does not affect others, and its refusal names the limit', async () => {
    await start({ maxConnections: 40, maxConnectionsPerAgent: 20 })
    for (let at = 0; at < 20; at++) expect(await status(await open(request('greedy')))).toBe(200)
    const over = await open(request('greedy'))
    expect(await status(over)).toBe(503)
    await over.until(({ received }) => received.includes('MAX_CONNECTIONS_PER_AGENT'))
    expect(over.received).toContain('Agent \\"greedy\\" has 20 open connections')
    expect(front.exchanges.filter(({ malformed }) => malformed?.code === 'not_ready')).toHaveLength(1)
    expect(front.quotas).toEqual(['greedy MAX_CONNECTIONS_PER_AGENT'])
    for (let at = 0; at < 20; at++) expect(await status(await open(request('other')))).toBe(200)
    const [first] = clients
    first?.socket.destroy()
    await until(
      () => front.front.connections === 40,
      () => 'the connection to leave',
    )
    expect(await status(await open(request('greedy')))).toBe(200)
  })

  test.each([
    ['many requests on one connection', request],
    ['many tunnels, one after the other', connect],
  ])('has one connection for %s', async (_, text) => {
    await start({ maxConnectionsPerAgent: 1, maxTunnelsPerAgent: 1 })
    for (let at = 0; at < 5; at++) {
      const client = await open(text('bot'))
      expect(await status(client)).toBe(200)
      client.socket.destroy()
      await until(
        () => front.front.connections === 0,
        () => 'the connection to leave',
      )
    }
    const client = await open(request('bot'))
    for (let at = 1; at <= 5; at++) {
      await client.until(({ received }) => received.split('HTTP/1.1 200').length === at + 1)
      client.send(request('bot'))
    }
    expect(front.quotas).toEqual([])
  })

  test('is limited in tunnels, however many connections it has', async () => {
    await start({ maxTunnelsPerAgent: 3 })
    for (let at = 0; at < 3; at++) expect(await status(await open(connect('bot')))).toBe(200)
    const over = await open(connect('bot'))
    expect(await status(over)).toBe(503)
    await over.until(({ received }) => received.includes('MAX_TUNNELS_PER_AGENT'))
    expect(await status(await open(request('bot')))).toBe(200)
    expect(await status(await open(connect('other')))).toBe(200)
    clients[0]?.socket.destroy()
    await until(
      () => front.front.connections === 5,
      () => 'the tunnel to leave',
    )
    expect(await status(await open(connect('bot')))).toBe(200)
  })

  test('whose tunnel is refused has none: the connection is free for the next', async () => {
    await start(
      { maxTunnelsPerAgent: 1 },
      { agentOf, admit: () => 'pipeline', handle: async ({ reply }) => reply.send(403, [], 'no') },
    )
    const client = await open()
    for (let at = 1; at <= 5; at++) {
      client.send(connect('bot'))
      await client.until(({ received }) => received.split('HTTP/1.1 403').length === at + 1)
    }
    expect(front.quotas).toEqual([])
  })

  test.each([
    ['without a port', connect('bot').replace(/^CONNECT \S+/, 'CONNECT a.example'), 400],
    ['to an empty host', connect('bot').replace(/^CONNECT \S+/, 'CONNECT :443'), 400],
    ['to two hosts', connect('bot').replace(/Host: \S+/, 'Host: other.example:443'), 421],
  ])('whose CONNECT %s is refused has no tunnel', async (_, text, wanted) => {
    await start(
      { maxTunnelsPerAgent: 2 },
      {
        agentOf,
        handle: async ({ reply, malformed }) =>
          reply.send(malformed?.code === 'misdirected' ? 421 : 400, [], 'no'),
      },
    )
    const refused = [await open(text), await open(text), await open(text)]
    for (const client of refused) expect(await status(client)).toBe(wanted)
    expect(await status(await open(connect('bot')))).toBe(200)
    expect(await status(await open(connect('bot')))).toBe(200)
    expect(front.quotas).toEqual([])
  })

  test('that shows its key on a connection of another one takes it over', async () => {
    await start({ maxConnectionsPerAgent: 1 })
    const client = await open(request('one'))
    expect(await status(client)).toBe(200)
    client.send(request('two'))
    await client.until(({ received }) => received.split('HTTP/1.1 200').length === 3)
    const again = await open(request('two'))
    expect(await status(again)).toBe(503)
    expect(await status(await open(request('one')))).toBe(200)
  })
})

describe('agents that have all connections of a gateway', () => {
  const openMany = async (agent: string, count: number) => {
    const mine: RawClient[] = []
    for (let at = 0; at < count; at++) {
      const client = await open(request(agent))
      expect(await status(client)).toBe(200)
      mine.push(client)
    }
    return mine
  }
  const left = (mine: readonly RawClient[]) => mine.filter(({ isClosed }) => !isClosed).length

  test('leave each other one its fair share, and lose the oldest of the largest first', async () => {
    await start({ maxConnections: 24, maxConnectionsPerAgent: 10 })
    const [a, b, c] = [await openMany('a', 10), await openMany('b', 10), await openMany('c', 4)]
    const d = await openMany('d', 6)
    await until(
      () => front.front.connections === 24,
      () => `connections to leave, ${front.front.connections} are open`,
    )
    expect([left(a), left(b), left(c), left(d)]).toEqual([7, 7, 4, 6])
    expect(a.map(({ isClosed }) => isClosed).indexOf(false)).toBe(3)
    expect(new Set(front.quotas)).toEqual(new Set(['a MAX_CONNECTIONS', 'b MAX_CONNECTIONS']))
    // The one with the most gets no further one.
    const over = await open(request('a'))
    expect(await status(over)).toBe(503)
    expect(over.received).toContain('MAX_CONNECTIONS')
    expect([left(b), left(c), left(d)]).toEqual([7, 4, 6])
  })

  test('cannot evict each other in turns', async () => {
    await start({ maxConnections: 10, maxConnectionsPerAgent: 10 })
    await openMany('a', 5)
    await openMany('b', 5)
    for (let at = 0; at < 5; at++)
      for (const agent of ['a', 'b']) expect(await status(await open(request(agent)))).toBe(503)
    expect(front.front.connections).toBeLessThanOrEqual(20)
  })

  test('each get one as long as there are fewer agents than connections', async () => {
    await start({ maxConnections: 10, maxConnectionsPerAgent: 10 })
    await openMany('greedy', 10)
    for (let at = 0; at < 9; at++) expect(await status(await open(request(`agent${at}`)))).toBe(200)
    expect(await status(await open(request('one too many')))).toBe(503)
  })

  test('lose tunnels, too, which count no longer', async () => {
    await start({ maxConnections: 4, maxConnectionsPerAgent: 4, maxTunnelsPerAgent: 4 })
    const tunnels: RawClient[] = []
    for (let at = 0; at < 4; at++) {
      const client = await open(connect('greedy'))
      expect(await status(client)).toBe(200)
      tunnels.push(client)
    }
    await openMany('other', 2)
    await until(
      () => left(tunnels) === 2,
      () => 'two tunnels to leave',
    )
    tunnels.at(-1)?.socket.destroy()
    await until(
      () => front.front.connections === 3,
      () => 'the third to leave',
    )
    expect(await status(await open(connect('greedy')))).toBe(200)
  })
})

describe('unauthenticated connections', () => {
  const HOSTILE: readonly [string, string][] = [
    ['say nothing', ''],
    ['never end their head', 'GET http://a.example/ HTTP/1.1\r\nX: '],
    ['never end their handshake', '\x16\x03\x01\x02\x00\x01\x00'],
    ['have a wrong key', `GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n${basic('bot', 'wrong')}\r\n`],
    ['have no key', 'CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\n\r\n'],
    ['send garbage', '\0\0\0\0'],
    ['send half of an HTTP/2 preface', 'PRI * HTTP/2.0\r\n\r\n'],
    ['ask the API and keep the connection', HEALTH],
    [
      'announce a body for the API',
      'POST /internal/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n{',
    ],
    [
      'announce a body for a proxy',
      'POST http://a.example/ HTTP/1.1\r\nHost: a.example\r\nContent-Length: 1000000\r\n\r\n{',
    ],
    ['are pipelined', HEALTH.repeat(50)],
  ]
  test.each(HOSTILE)('that %s keep neither an agent nor a probe out, and are counted', async (_, text) => {
    await start({ maxUnauthenticated: 10 })
    const agentPort = await front.front.openAgentPort('bot', 0, () => true)
    for (let at = 0; at < 60; at++) {
      await open(text, at % 2 === 0 ? front.port : agentPort)
      await until(
        () => front.front.connections <= 10,
        () => 'the oldest to be evicted',
      )
    }
    expect(await status(await open(request('bot')))).toBe(200)
    expect(await status(await open(connect('bot')))).toBe(200)
    expect(await status(await open(HEALTH))).toBe(200)
    expect(front.front.connections).toBeLessThanOrEqual(12)
  })

  test('that are kept are closed after the time limit; the others stay', async () => {
    await start({ unauthenticatedTimeoutMs: 100 })
    const [silent, probe, agent] = [await open(), await open(HEALTH), await open(request('bot'))]
    await silent.until(({ isClosed }) => isClosed)
    await probe.until(({ isClosed }) => isClosed)
    expect(probe.received).toMatch(/^HTTP\/1\.1 200/)
    expect(agent.isClosed).toBe(false)
    agent.send(request('bot'))
    await agent.until(({ received }) => received.split('HTTP/1.1 200').length === 3)
  })

  test('do not evict a caller of the API that showed its token', async () => {
    let release = (): void => undefined
    const held = new Promise<void>((resolve) => (release = resolve))
    await start(
      { maxUnauthenticated: 5 },
      {
        agentOf,
        api: async (request) => {
          request.onAuthenticated()
          await held
          return { status: 200, headers: [], body: 'done' }
        },
      },
    )
    const caller = await open('POST /internal/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n')
    await until(
      () => front.apiRequests.length === 1,
      () => 'the call',
    )
    for (let at = 0; at < 30; at++) await open()
    release()
    expect(await status(caller)).toBe(200)
  })
})

describe('limits', () => {
  const none = { maxConnections: null, maxConnectionsPerAgent: null, maxTunnelsPerAgent: null }
  test.each([16, 64, 128, 256, 1_024, 4_096, 1_048_576])(
    'with %s descriptors stay below half of them',
    (descriptors) => {
      const limits = connectionLimits({ ...none, maxConnections: 900_000 }, descriptors, false)
      expect(limits.maxConnections + limits.maxUnauthenticated).toBeLessThanOrEqual(
        Math.max(8, descriptors / 2),
      )
      expect(limits.maxConnections).toBeGreaterThan(0)
      expect(limits.maxUnauthenticated).toBeGreaterThan(0)
      expect(limits.maxConnectionsPerAgent).toBeLessThanOrEqual(limits.maxConnections)
      expect(limits.maxTunnelsPerAgent).toBeLessThanOrEqual(limits.maxConnectionsPerAgent)
    },
  )

  test('leave the only agent of a pod all of them, and one of many less than half', () => {
    expect(connectionLimits(none, 1_048_576, true).maxConnectionsPerAgent).toBe(1_000)
    expect(connectionLimits(none, 1_048_576, false).maxConnectionsPerAgent).toBe(400)
    expect(connectionLimits(none, 256, false).maxConnectionsPerAgent).toBe(36)
  })
})
