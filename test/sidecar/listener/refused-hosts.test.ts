import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect as connectTls, type TLSSocket } from 'node:tls'
import { ProxyAgent, request } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import { waitFor } from '../../support/wait-for.ts'
import { killAll, type Rules, startWorld, type World } from '../pipeline/test-world.ts'
import { type RawClient, rawClient, startFront, type TestFront } from './harness.ts'

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

const HOST = 'telemetry.example'
const KEY = `Basic ${Buffer.from('builder:port-key').toString('base64')}`

type Stage = { readonly world: World; readonly front: TestFront; readonly port: number }

/** The real front before the real pipeline, with the keyed port of an agent as `chaperone run` uses it. */
async function start(rules: Rules = {}, canRefuseInside = true): Promise<Stage> {
  const world = await startWorld(rules)
  const admit = createAdmit(world.ports, canRefuseInside)
  const front = await startFront({ handle: world.run, refuse: world.run, admit })
  open.push(world, front)
  const port = await front.front.openAgentPort('builder', 0, (_agent, key) => key === 'port-key')
  return { world, front, port }
}

async function connected(port: number, authority: string, key = KEY): Promise<RawClient> {
  const client = await rawClient(port)
  client.send(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\nProxy-Authorization: ${key}\r\n\r\n`)
  await client.until(({ received }) => received.includes('\r\n\r\n'))
  return client
}

async function secure({ front, port }: Stage, alpn: string[], name = HOST): Promise<TLSSocket> {
  const { socket, received } = await connected(port, `${HOST}:443`)
  expect(received).toMatch(/^HTTP\/1\.1 200 /)
  socket.removeAllListeners('data')
  const inside = connectTls({ socket, servername: name, ca: front.ca.certPem, ALPNProtocols: alpn })
  await once(inside, 'secureConnect')
  return inside
}

function expectRefused({ world }: Stage, host = HOST): void {
  expect(world.records).toMatchObject([{ decision: 'DENY', reason: 'unknown_host', host, method: 'CONNECT' }])
  expect(world.upstream.connections).toBe(0)
}

describe('a host that no connector owns, asked for by a client of chaperone run', () => {
  it('is refused inside TLS, with the reason and the line to add, and leaves one record', async () => {
    const stage = await start()
    const agent = new ProxyAgent({
      ...{ uri: `http://127.0.0.1:${stage.port}`, token: KEY },
      requestTls: { ca: stage.front.ca.certPem },
    })
    open.push({ [Symbol.asyncDispose]: () => agent.destroy() })
    for (const body of ['{}', 'x'.repeat(300_000)]) {
      const reply = await request(`https://${HOST}/v1/metrics`, { dispatcher: agent, method: 'POST', body })
      expect(reply.statusCode).toBe(403)
      expect(await reply.body.json()).toMatchObject({
        error: 'denied',
        message: expect.stringMatching(/No connector owns telemetry\.example:443.*egress\.allowedHosts/),
        record_id: stage.world.records[0]?.id,
      })
    }
    expectRefused(stage)
  })

  it('is refused over HTTP/2, too', async () => {
    const stage = await start()
    const inside = await secure(stage, ['h2'])
    const session = connectHttp2(`https://${HOST}`, { createConnection: () => inside })
    const stream = session.request({ ':path': '/', ':method': 'GET' })
    const [headers] = await once(stream, 'response')
    expect(headers[':status']).toBe(403)
    const chunks: Buffer[] = []
    for await (const chunk of stream) chunks.push(chunk)
    expect(JSON.parse(Buffer.concat(chunks).toString())).toMatchObject({ error: 'denied' })
    session.destroy()
    expectRefused(stage)
  })

  it('is refused in plain HTTP inside the tunnel, and the connection ends', async () => {
    const stage = await start()
    const client = await connected(stage.port, `${HOST}:80`)
    client.received = ''
    client.send(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    expect(await client.all()).toMatch(/^HTTP\/1\.1 403 [\s\S]*No connector owns telemetry\.example:80/)
    expectRefused(stage)
  })

  it('receives the refusal of a kill switch in the same way', async () => {
    const stage = await start()
    stage.world.state.kill = [killAll()]
    const inside = await secure(stage, ['http/1.1'])
    inside.write(`GET / HTTP/1.1\r\nHost: ${HOST}\r\n\r\n`)
    const [answer] = await once(inside, 'data')
    expect(String(answer)).toMatch(/^HTTP\/1\.1 403 [\s\S]*kill/i)
    expect(stage.world.records).toMatchObject([{ reason: 'kill_switch' }])
  })

  it.each<[string, (stage: Stage, client: RawClient) => void]>([
    ['leaves after the 200', (_stage, { socket }) => socket.destroy()],
    ['sends half a ClientHello', (_stage, client) => client.send(Buffer.from('160301', 'hex')).socket.end()],
    [
      'sends bytes of no protocol',
      (_stage, client) => client.send('\u0000\u0001\u0002\r\n\r\n').socket.end(),
    ],
    ['speaks SSH', (_stage, client) => client.send('SSH-2.0-OpenSSH_9.9\r\n\r\n').socket.end()],
    [
      'does not trust the certificate',
      (_stage, { socket }) => {
        socket.removeAllListeners('data')
        connectTls({ socket, servername: HOST }).on('error', () => socket.destroy())
      },
    ],
    [
      'names a host that is owned',
      ({ front }, { socket }) => {
        socket.removeAllListeners('data')
        const inside = connectTls({ socket, servername: 'api.github.com', ca: front.ca.certPem })
        inside.on('error', () => undefined)
        inside.resume()
        inside.write('GET /repos/acme/site/issues HTTP/1.1\r\nHost: api.github.com\r\n\r\n')
      },
    ],
  ])('leaves the same one record when the client %s', async (_what, act) => {
    const stage = await start({ permissions: [['codehost.*', 'allow']] })
    const client = await connected(stage.port, `${HOST}:443`)
    act(stage, client)
    await client.until(({ isClosed }) => isClosed, 'the connection to close')
    await waitFor(() => expect(stage.front.front.connections).toBe(0))
    expectRefused(stage)
    expect(stage.front.failures).toEqual([])
  })

  it('keeps at most as many certificates as the cache for refused hosts, apart from those of owned hosts', async () => {
    const stage = await start()
    const inside = await secure(stage, ['http/1.1'], 'other.example')
    expect(inside.getPeerCertificate().subjectaltname).toBe('DNS:other.example')
    expect(stage.front.minted).toEqual([])
    expect(stage.front.mintedForRefusals).toEqual(['other.example'])
    inside.destroy()
  })

  it.each([
    ['the port of SSH', `${HOST}:22`],
    ['the port of mail', `${HOST}:587`],
    ['the port of a database', `${HOST}:5432`],
    ['an address', '203.0.113.7:443'],
    ['an address of version 6', '[2001:db8::7]:443'],
  ])('is refused by the status of the CONNECT for %s', async (_what, authority) => {
    const stage = await start()
    const [line = ''] = (await connected(stage.port, authority)).received.split('\r\n')
    expect(line).toMatch(/^HTTP\/1\.1 403 denied: No connector owns [\x20-\x7e]+$/)
    expect(line.length).toBeLessThanOrEqual('HTTP/1.1 403 '.length + 100)
    expectRefused(stage, authority.slice(0, authority.lastIndexOf(':')).replaceAll(/[[\]]/g, ''))
  })

  it('is refused by the status of the CONNECT where the certificates cannot be for every name', async () => {
    const stage = await start({}, false)
    expect((await connected(stage.port, `${HOST}:443`)).received).toMatch(/^HTTP\/1\.1 403 /)
    expectRefused(stage)
  })

  it.each([
    ['without a key', 'Basic eDp5'],
    ['with the key of another', `Basic ${Buffer.from('other:port-key').toString('base64')}`],
  ])('is 407 %s', async (_what, key) => {
    const stage = await start()
    expect((await connected(stage.port, `${HOST}:443`, key)).received).toMatch(/^HTTP\/1\.1 407 /)
  })
})
