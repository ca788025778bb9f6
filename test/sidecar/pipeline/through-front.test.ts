import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { connect } from 'node:net'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ProxyAgent, request } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import WebSocket from 'ws'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import { replyDownload, replySse } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { rawClient, startFront, type TestFront } from '../listener/harness.ts'
import { killAll, type Rules, SECRET, startWorld, type World } from './test-world.ts'

const KEY = 'svc_test_abc'
const AGENT = { key_sha256: createHash('sha256').update(KEY).digest('hex') }

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** The real front before the real pipeline: what an agent's client meets. */
async function start(rules: Rules): Promise<{ world: World; front: TestFront; agent: ProxyAgent }> {
  const world = await startWorld({ agents: [AGENT], ...rules })
  const front = await startFront({ handle: world.run, admit: createAdmit(world.ports) })
  const agent = new ProxyAgent({
    uri: `http://127.0.0.1:${front.port}`,
    token: `Basic ${Buffer.from(`builder:${KEY}`).toString('base64')}`,
    requestTls: { ca: front.ca.certPem },
  })
  open.push(world, front, { [Symbol.asyncDispose]: () => agent.destroy() })
  return { world, front, agent }
}

async function tunnelTo(front: TestFront, host: string): Promise<TLSSocket> {
  const socket = connect(front.port, '127.0.0.1')
  const token = Buffer.from(`builder:${KEY}`).toString('base64')
  socket.write(
    `CONNECT ${host}:443 HTTP/1.1\r\nHost: ${host}:443\r\nProxy-Authorization: Basic ${token}\r\n\r\n`,
  )
  const [head] = await once(socket, 'data')
  expect(String(head)).toContain(' 200 ')
  const secure = connectTls({
    socket,
    servername: host,
    ca: front.ca.certPem,
    ALPNProtocols: ['http/1.1'],
  })
  await once(secure, 'secureConnect')
  return secure
}

describe('through the real front', () => {
  it('each connection over the limit gets Retry-After and one record; upstream sees nothing', async () => {
    const world = await startWorld({ agents: [AGENT], permissions: [['*', 'allow']] })
    const front = await startFront({
      handle: world.run,
      refuse: world.run,
      limits: { maxConnections: 1 },
    })
    open.push(world, front)
    const port = await front.front.openAgentPort('builder')
    const first = await rawClient(port)
    await waitFor(() => expect(front.front.connections).toBe(1))
    const over = await Promise.all(
      Array.from({ length: 20 }, async () => {
        const client = await rawClient(port)
        client.send('GET http://api.github.com/user HTTP/1.1\r\nHost: api.github.com\r\n\r\n')
        return client.all()
      }),
    )
    for (const answer of over) {
      expect(answer).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 1\r\n.*Connection: close\r\n\r\n\{/s)
      expect(answer).toContain('no free connections')
    }
    expect(world.records).toHaveLength(20)
    expect(new Set(world.records.map(({ id }) => id)).size).toBe(20)
    for (const record of world.records)
      expect(record).toMatchObject({ agent: 'builder', decision: 'DENY', status: 503, action_type: null })
    expect(world.intents).toEqual([])
    expect(world.upstream.connections).toBe(0)
    expect(front.front.connections).toBe(1)
    first.socket.destroy()
  })

  it('an allowed request inside CONNECT reaches upstream with our credential', async () => {
    const { world, agent } = await start({ permissions: [['codehost.*', 'allow']] })
    const url = 'https://api.github.com/repos/acme/site/git/refs/heads%2Fa%20b'
    const reply = await request(url, {
      dispatcher: agent,
      method: 'DELETE',
      headers: { authorization: 'token own' },
    })
    expect(reply.statusCode).toBe(200)
    expect(await reply.body.json()).toEqual({ ok: true })
    expect(world.upstream.seen[0]?.target).toBe('/repos/acme/site/git/refs/heads%2Fa%20b')
    expect(world.upstream.seen[0]?.header('authorization')).toBe(`token ${SECRET}`)
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({
      transport: expect.stringMatching(/^connect-h[12]$/),
      status: 200,
      decision: 'ALLOW',
    })
  })

  it('a denied request with a body is answered on a connection that stays open', async () => {
    const { world, agent } = await start({ permissions: [['codehost.issue.*', 'allow']] })
    const merge = await request('https://api.github.com/repos/a/b/pulls/1/merge', {
      dispatcher: agent,
      method: 'PUT',
      body: 'x'.repeat(100_000),
    })
    expect(merge.statusCode).toBe(403)
    expect(await merge.body.json()).toMatchObject({ error: 'denied', action_type: 'codehost.pr.merge' })
    expect(world.upstream.seen).toEqual([])
    const list = await request('https://api.github.com/repos/a/b/issues', { dispatcher: agent })
    expect(list.statusCode).toBe(200)
    await list.body.dump()
    await waitFor(() => expect(world.records).toHaveLength(2))
  })

  it('an unknown host is answered at the CONNECT, once, with a record', async () => {
    const { world, agent } = await start({})
    await expect(request('https://pypi.org/simple', { dispatcher: agent })).rejects.toThrow(/403/)
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ reason: 'unknown_host', transport: 'connect', status: 403 })
    expect(world.upstream.connections).toBe(0)
  })

  it('a large answer arrives whole', async () => {
    const { world, agent } = await start({ permissions: [['codehost.*', 'allow']] })
    world.upstream.answerWith(replyDownload(20 * 1024 * 1024, false))
    const reply = await request('https://api.github.com/repos/a/b/issues', { dispatcher: agent })
    let bytes = 0
    for await (const chunk of reply.body) bytes += chunk.length
    expect(bytes).toBe(20 * 1024 * 1024)
    await waitFor(() => expect(world.records[0]?.bytes_out).toBe(20 * 1024 * 1024))
  })

  it('upstream is closed after the agent leaves a stream', async () => {
    const { world, front } = await start({ permissions: [['codehost.*', 'allow']] })
    world.upstream.answerWith(replySse(100_000, 5))
    const socket = await tunnelTo(front, 'api.github.com')
    socket.write('GET /repos/a/b/issues HTTP/1.1\r\nHost: api.github.com\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    await waitFor(() => expect(world.upstream.openConnections).toBe(0), { interval: 5 })
    await waitFor(() => expect(world.records).toHaveLength(1))
  })

  it('a WebSocket is opened, echoes, and is cut by the kill switch', async () => {
    const { world, front } = await start({ permissions: [['codehost.websocket.open', 'allow']] })
    const socket = await tunnelTo(front, 'api.github.com')
    const client = new WebSocket('wss://api.github.com/socket', { createConnection: () => socket })
    await once(client, 'open')
    client.send('hello')
    expect(String((await once(client, 'message'))[0])).toBe('hello')
    for (const exchange of world.live) exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await once(client, 'close')
    await waitFor(() => expect(world.records).toHaveLength(1))
    expect(world.records[0]).toMatchObject({ status: 101, note: 'aborted by a kill switch' })
    expect(world.records[0]?.bytes_in).toBeGreaterThan(0)
  })

  it('answers 400 for a request that could be read in two ways', async () => {
    const { world, front } = await start({ permissions: [['codehost.*', 'allow']] })
    const socket = await tunnelTo(front, 'api.github.com')
    socket.write(
      'GET /a HTTP/1.1\r\nHost: api.github.com\r\nConnection: Authorization\r\nAuthorization: x\r\n\r\n',
    )
    const [answer] = await once(socket, 'data')
    expect(String(answer)).toContain('HTTP/1.1 400')
    expect(world.upstream.seen).toEqual([])
    await waitFor(() => expect(world.records).toHaveLength(1))
    socket.destroy()
  })
})
