import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import type { ResponseStage } from '../../../sidecar/pipeline/response/response-stage.ts'
import {
  replyChunkedWithTrailers,
  replyEarly,
  replyJson,
  replyRedirect,
  replySse,
} from '../../support/recorder.ts'
import { testExchange } from '../pipeline/test-exchange.ts'
import { closeAll, closeLater, outboundOf, recorder, send, targetOf, upstreamWith } from './upstream-world.ts'

afterEach(closeAll)

describe('forwarding', () => {
  it.each(['/a/..%2fb', '/a/./b', '/%7Euser/%2e%2e/c;x=1//d', '/a?b=c%20d+e&&f', '/?x=%00'])(
    'sends the path %s byte for byte',
    async (path) => {
      const at = await recorder()
      await send(upstreamWith(), targetOf(at.port), { path })
      expect(at.seen[0]?.target).toBe(path)
    },
  )

  it('sends raw latin-1 bytes of a path as they are', async () => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.once('data', (chunk) => {
        first.resolve(chunk)
        socket.end('HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n')
      })
    })
    const first = Promise.withResolvers<Buffer>()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    closeLater(async () => void server.close())
    await send(upstreamWith(), targetOf((server.address() as AddressInfo).port), {
      path: '/caf\u00e9?q=\u00fc',
    })
    const line = (await first.promise).subarray(0, 22)
    expect(line.equals(Buffer.from('GET /caf\u00e9?q=\u00fc HTTP/1.1', 'latin1').subarray(0, 22))).toBe(true)
  })

  it('keeps header order, case, duplicates and raw bytes, and ends hop-by-hop fields here', async () => {
    const at = await recorder()
    await send(upstreamWith(), targetOf(at.port), {
      headers: [
        'X-One',
        'caf\u00e9',
        'x-two',
        'a',
        'X-TWO',
        'b',
        'Connection',
        'keep-alive, X-Drop',
        'X-Drop',
        '1',
        'Proxy-Authorization',
        'Basic eA==',
        'TE',
        'gzip',
        'Upgrade',
        'h2c',
        'Expect',
        '100-continue',
      ],
    })
    const sent = at.seen[0]?.rawHeaders ?? []
    expect(sent).toEqual(['host', 'api.github.com', 'X-One', 'caf\u00e9', 'x-two', 'a', 'X-TWO', 'b'])
  })

  it('hands back status, raw header pairs and body, less hop-by-hop fields', async () => {
    const at = await recorder({
      answer: replyJson({ hello: 1 }, 201, { 'X-Thing': 'one', 'Keep-Alive': 'timeout=5' }),
    })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.reply.status).toBe(201)
    expect(exchange.reply.json()).toEqual({ hello: 1 })
    expect(exchange.reply.headers).toContain('X-Thing')
    expect(exchange.reply.header('keep-alive')).toBeUndefined()
    expect(exchange.reply.header('connection')).toBeUndefined()
    expect(exchange.reply.state).toBe('ended')
    expect(exchange.outcome).toMatchObject({ status: 201, errorType: null })
  })

  it.each([
    ['POST', 'hello'],
    ['PUT', Buffer.alloc(300_000, 7)],
    ['DELETE', '{"x":1}'],
    ['GET', 'a body on a GET'],
  ])('sends the body of a %s whole, with its length', async (method, body) => {
    const at = await recorder()
    await send(upstreamWith(), targetOf(at.port), { method, body })
    const [seen] = await at.received(1)
    expect(seen?.body.equals(Buffer.from(body))).toBe(true)
    expect(seen?.header('content-length')).toBe(String(Buffer.byteLength(body)))
  })

  it('streams a body of unknown length in chunks', async () => {
    const at = await recorder()
    const seenBytes: number[] = []
    const upstream = upstreamWith()
    const exchange = testExchange({
      method: 'POST',
      body: Readable.from([Buffer.from('one'), Buffer.from('two')]),
    })
    const watch: ResponseStage = {
      sent: (chunk) => seenBytes.push(chunk.length),
      answered: () => seenBytes.push(0),
    }
    await upstream.forward(exchange, outboundOf(exchange, targetOf(at.port)), [watch])
    const [seen] = await at.received(1)
    expect(seen?.body.toString()).toBe('onetwo')
    expect(seen?.header('transfer-encoding')).toBe('chunked')
    expect(seenBytes).toEqual([3, 3, 0])
  })

  it('answers a HEAD without a body and a 304 as it is', async () => {
    const at = await recorder({ answer: replyJson({ long: 'body' }) })
    const upstream = upstreamWith()
    const head = await send(upstream, targetOf(at.port), { method: 'HEAD' })
    expect(head.reply.header('content-length')).toBe('15')
    expect(head.reply.text()).toBe('')
    at.answerWith((_request, response) => response.writeHead(304, { etag: '"x"' }).end())
    const notModified = await send(upstream, targetOf(at.port))
    expect(notModified.reply.status).toBe(304)
    expect(notModified.reply.state).toBe('ended')
  })

  it('never follows a redirect', async () => {
    const other = await recorder()
    const at = await recorder({ answer: replyRedirect(`${other.url}/elsewhere`) })
    const exchange = await send(upstreamWith(), targetOf(at.port), { method: 'POST', body: 'x' })
    expect(exchange.reply.status).toBe(302)
    expect(exchange.reply.header('location')).toBe(`${other.url}/elsewhere`)
    expect(other.connections).toBe(0)
  })

  it('passes interim answers and trailers', async () => {
    const at = await recorder({
      answer: (request, response, seen) => {
        response.writeEarlyHints({ link: '</a.css>; rel=preload' })
        return replyChunkedWithTrailers(['a', 'b'], { 'x-sum': '2' })(request, response, seen)
      },
    })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.reply.interims).toEqual([103])
    expect(exchange.reply.text()).toBe('ab')
    expect(exchange.reply.trailers).toEqual(['x-sum', '2'])
  })

  it('delivers every server-sent event by itself and at once', async () => {
    const at = await recorder({ answer: replySse(10, 10) })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.reply.chunks.map(String)).toEqual(Array.from({ length: 10 }, (_x, n) => `data: ${n}\n\n`))
  })

  it('answers early refusals while the agent is still uploading', async () => {
    const at = await recorder({ answer: replyEarly(413, 'too much') })
    const body = new Readable({ read: () => undefined })
    body.push(Buffer.alloc(1000))
    const exchange = await send(upstreamWith(), targetOf(at.port), { method: 'POST', body })
    expect(exchange.reply.status).toBe(413)
    expect(exchange.reply.text()).toBe('too much')
    expect(body.destroyed).toBe(false)
  })

  it('reuses a connection and opens as many as run at once', async () => {
    const at = await recorder()
    const upstream = upstreamWith()
    for (let n = 0; n < 5; n++) await send(upstream, targetOf(at.port), { method: 'POST', body: 'x' })
    expect(at.connections).toBeLessThanOrEqual(2)
    at.answerWith(replySse(3, 20))
    await Promise.all(Array.from({ length: 100 }, () => send(upstream, targetOf(at.port))))
    expect(at.connections).toBeGreaterThanOrEqual(99)
    expect(at.seen.length).toBe(105)
  })
})
<<<<<<< HEAD
=======

describe('back-pressure and ending', () => {
  it('stops reading upstream while the agent is slow', async () => {
    const total = 64 * 1024 * 1024
    const at = await recorder({ answer: replyDownload(total) })
    const exchange = testExchange()
    exchange.reply.isSlow = true
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    await waitFor(() => expect(exchange.reply.bytesOut).toBeGreaterThan(0))
    let before = -1
    await waitFor(
      () => {
        const now = exchange.reply.bytesOut
        const isStill = now === before
        before = now
        expect(isStill).toBe(true)
      },
      { interval: 50 },
    )
    expect(exchange.reply.bytesOut).toBeLessThan(total / 8)
    exchange.reply.drain()
    await done
    expect(exchange.reply.bytesOut).toBe(total)
  })

  it('reads the agent only as fast as upstream takes it', async () => {
    let produced = 0
    const block = Buffer.alloc(256 * 1024)
    const body = new Readable({
      read() {
        produced += block.length
        this.push(produced > 256 * 1024 * 1024 ? null : block)
      },
    })
    const at = await recorder({ answer: (request) => request.pause() })
    const exchange = testExchange({ method: 'POST', body })
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    let before = -1
    await waitFor(
      () => {
        const isStill = produced === before
        before = produced
        expect(isStill).toBe(true)
      },
      { interval: 100 },
    )
    expect(produced).toBeLessThan(64 * 1024 * 1024)
    exchange.abort.abort()
    await expect(done).rejects.toMatchObject({ name: 'AbortError' })
  })

  it.each([
    ['before the head', replyNever()],
    ['in the middle of a stream', replySse(10_000, 5)],
  ])('closes upstream when the agent leaves %s', async (_when, answer) => {
    const at = await recorder({ answer })
    const exchange = testExchange()
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    await at.received(1)
    if (answer !== undefined) await sleep(20)
    exchange.abort.abort()
    await done.catch((error: unknown) => expect(error).toMatchObject({ name: 'AbortError' }))
    await waitFor(() => expect(at.openConnections).toBe(0), { interval: 5 })
    expect(exchange.reply.state).toBe(exchange.reply.status === null ? 'open' : 'destroyed')
  })

  it('leaves nothing behind when the agent leaves while the connection is being made', async () => {
    let release: () => void = () => undefined
    const gate = new Promise<void>((resolve) => {
      release = resolve
    })
    const at = await recorder()
    const upstream = upstreamWith({
      resolve: async () => {
        await gate
        return [{ address: '127.0.0.1', family: 4 }]
      },
    })
    const exchange = testExchange({ method: 'POST', body: 'secret' })
    const done = upstream.forward(exchange, outboundOf(exchange, targetOf(at.port, { host: 'late.example' })))
    exchange.abort.abort()
    await expect(done).rejects.toMatchObject({ name: 'AbortError' })
    release()
    await waitFor(() => expect(at.connections).toBe(1))
    await waitFor(() => expect(at.openConnections).toBe(0))
    expect(at.seen).toEqual([])
  })

  it('cuts the answer when upstream breaks off, so that it cannot be taken for complete', async () => {
    const at = await recorder({ answer: replyHalf() })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.reply.status).toBe(200)
    expect(exchange.reply.state).toBe('destroyed')
    expect(exchange.outcome.errorType).toBe('connect')
  })

  it('sends a write once when upstream closes without an answer', async () => {
    const at = await recorder({ answer: replyCut() })
    const sending = send(upstreamWith(), targetOf(at.port), { method: 'POST', body: 'x' })
    await expect(sending).rejects.toMatchObject({
      code: 'upstream_failed',
      options: { extra: { error_type: 'connect' } },
    })
    await sleep(50)
    expect(at.seen.length).toBe(1)
  })

  it('dials again when the kept connection was closed before anything was written', async () => {
    const at = await recorder()
    const upstream = upstreamWith()
    await send(upstream, targetOf(at.port), { method: 'POST', body: '1' })
    at.answerWith((_request, response) => response.writeHead(200, { connection: 'close' }).end())
    await send(upstream, targetOf(at.port), { method: 'POST', body: '2' })
    const last = await send(upstream, targetOf(at.port), { method: 'POST', body: '3' })
    expect(last.reply.status).toBe(200)
    expect(at.seen.map((seen) => seen.body.toString())).toEqual(['1', '2', '3'])
  })

  it('gives up with 504 when nothing moves for the idle limit', async () => {
    const at = await recorder({ answer: replyNever() })
    const sending = send(upstreamWith({ idleTimeoutMs: 120 }), targetOf(at.port))
    await expect(sending).rejects.toMatchObject({ code: 'upstream_timeout' })
    await waitFor(() => expect(at.openConnections).toBe(0))
  })

  it.each([
    [401, '401'],
    [429, '429'],
    [503, '500'],
    [404, null],
  ])('names an upstream %i as error type %s', async (status, errorType) => {
    const at = await recorder({ answer: replyJson({}, status) })
    const exchange = await send(upstreamWith(), targetOf(at.port))
    expect(exchange.outcome).toMatchObject({ status, errorType })
  })
})

describe('dialling', () => {
  const ca = createTestCa()

  it('verifies the certificate against the name and the extra authority, beside the public ones', async () => {
    const at = await recorder({ tls: ca.issue('api.github.com') })
    const target = targetOf(at.port, {
      isTls: true,
      servername: 'api.github.com',
      identities: ['127.0.0.1', 'api.github.com'],
      caBundle: ca.cert,
    })
    const exchange = await send(upstreamWith(), target)
    expect(exchange.reply.status).toBe(200)
    expect(at.seen[0]?.servername).toBe('api.github.com')
  })

  it.each([
    ['an unknown authority', null, 'api.github.com'],
    ['a certificate for another name', ca.cert, 'other.example'],
  ])('sends nothing over a connection with %s', async (_what, caBundle, name) => {
    const at = await recorder({ tls: ca.issue(name) })
    const target = targetOf(at.port, {
      isTls: true,
      servername: 'api.github.com',
      identities: ['api.github.com'],
      caBundle,
    })
    const sending = send(upstreamWith(), target, { headers: ['Authorization', 'Bearer secret'] })
    await expect(sending).rejects.toMatchObject({
      code: 'upstream_tls',
      options: { extra: { error_type: 'tls' } },
    })
    expect(at.seen).toEqual([])
  })

  it('answers 502 when the connection is refused', async () => {
    const at = await recorder()
    await at.close()
    await expect(send(upstreamWith(), targetOf(at.port))).rejects.toMatchObject({
      code: 'upstream_failed',
      options: { extra: { error_type: 'connect' } },
    })
  })

  it('refuses a name when one of its addresses is private, and dials none', async () => {
    const at = await recorder()
    const upstream = upstreamWith({
      resolve: async () => [
        { address: '93.184.216.34', family: 4 },
        { address: '127.0.0.1', family: 4 },
      ],
    })
    const target = targetOf(at.port, { host: 'mixed.example', allowPrivateAddresses: false })
    await expect(send(upstream, target)).rejects.toMatchObject({ code: 'address_refused' })
    expect(at.connections).toBe(0)
  })

  it('resolves once and dials the checked address: a name that becomes private later is not dialled', async () => {
    const at = await recorder()
    let asked = 0
    const upstream = upstreamWith({
      connectTimeoutMs: 300,
      resolve: async () => {
        asked += 1
        return [{ address: asked === 1 ? '192.0.2.1' : '127.0.0.1', family: 4 }]
      },
    })
    const target = targetOf(at.port, { host: 'rebind.example', allowPrivateAddresses: false })
    await expect(send(upstream, target)).rejects.toMatchObject({ code: expect.stringMatching(/^upstream_/) })
    expect(asked).toBe(1)
    expect(at.connections).toBe(0)
  })

  it('refuses an IP literal that is private', async () => {
    const at = await recorder()
    const target = targetOf(at.port, { allowPrivateAddresses: false })
    await expect(send(upstreamWith(), target)).rejects.toMatchObject({ code: 'address_refused' })
    expect(at.connections).toBe(0)
  })

  it('gives up with 504 when a connection takes too long', async () => {
    const upstream = upstreamWith({ connectTimeoutMs: 100, resolve: () => new Promise(() => undefined) })
    const target = targetOf(1, { host: 'slow.example' })
    await expect(send(upstream, target)).rejects.toMatchObject({ code: 'upstream_timeout' })
  })
})

describe('tunnels and upgrades', () => {
  it('joins a CONNECT to the checked address and counts its bytes', async () => {
    const at = await recorder()
    const exchange = testExchange({ method: 'CONNECT', target: `127.0.0.1:${at.port}`, kind: 'tunnel' })
    const done = upstreamWith().tunnel(exchange, targetOf(at.port), 'any')
    await waitFor(() =>
      expect(exchange.reply.upgradeHead).toBe('HTTP/1.1 200 Connection Established\r\n\r\n'),
    )
    exchange.reply.agentSide.write('GET /in-tunnel HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
    const [first] = await once(exchange.reply.agentSide, 'data')
    expect(String(first)).toContain('200 OK')
    exchange.reply.agentSide.resume()
    exchange.reply.agentSide.end()
    await done
    expect(at.seen[0]?.target).toBe('/in-tunnel')
    expect(exchange.tunnelBytes?.up).toBeGreaterThan(40)
    expect(exchange.tunnelBytes?.down).toBeGreaterThan(40)
  })

  it('refuses to tunnel to a private address', async () => {
    const at = await recorder()
    const exchange = testExchange({ method: 'CONNECT', kind: 'tunnel' })
    const done = upstreamWith().tunnel(exchange, targetOf(at.port, { allowPrivateAddresses: false }), 'any')
    await expect(done).rejects.toMatchObject({ code: 'address_refused' })
    expect(exchange.reply.state).toBe('open')
    expect(at.connections).toBe(0)
  })

  it('cuts an open tunnel when the exchange is aborted', async () => {
    const at = await recorder()
    const exchange = testExchange({ method: 'CONNECT', kind: 'tunnel' })
    const done = upstreamWith().tunnel(exchange, targetOf(at.port), 'any')
    await waitFor(() => expect(at.openConnections).toBe(1))
    exchange.abort.abort()
    await done
    await waitFor(() => expect(at.openConnections).toBe(0))
    expect(exchange.outcome.note).toBe('cut')
  })

  const HANDSHAKE = [
    'Connection',
    'Upgrade',
    'Upgrade',
    'websocket',
    'Sec-WebSocket-Version',
    '13',
    'Sec-WebSocket-Key',
    'dGhlIHNhbXBsZSBub25jZQ==',
  ]

  it('carries a WebSocket handshake with its headers and then raw bytes both ways', async () => {
    const at = await recorder()
    const exchange = testExchange({
      kind: 'upgrade',
      target: '/socket',
      headers: [...HANDSHAKE, 'Authorization', 'token ours'],
    })
    const done = upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    await waitFor(() => expect(exchange.reply.state).toBe('upgraded'))
    expect(exchange.reply.upgradeHead).toContain('s3pPLMBiTxaQ9kYGzzhZRbK+xOo=')
    expect(at.seen[0]?.header('authorization')).toBe('token ours')
    const masked = Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0x68, 0x69])
    exchange.reply.agentSide.write(masked)
    const [frame] = await once(exchange.reply.agentSide, 'data')
    expect(frame).toEqual(Buffer.from([0x81, 0x02, 0x68, 0x69]))
    exchange.abort.abort()
    await done
  })

  it('carries the refusal of a WebSocket as it is', async () => {
    const at = await recorder()
    const exchange = testExchange({ kind: 'upgrade', target: '/refuse', headers: HANDSHAKE })
    await upstreamWith().forward(exchange, outboundOf(exchange, targetOf(at.port)))
    expect(exchange.reply.status).toBe(401)
    expect(exchange.reply.text()).toBe('no')
  })
})
>>>>>>> 54c5862c (Clarify names of sidecar tests)
