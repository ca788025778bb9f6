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
