import { once } from 'node:events'
import { createServer as createHttp, type IncomingMessage } from 'node:http'
import { createServer as createHttps } from 'node:https'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTls, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { eventually } from '../../../support/eventually.ts'
import { createTestCa } from '../../../support/test-ca.ts'
import { testExchange } from '../../pipeline/test-exchange.ts'
import {
  type CallSeen,
  ca,
  call,
  type GrpcServer,
  HOST,
  openBody,
  sayOk,
  startGrpcServer,
  startUpstream,
  type TestUpstream,
  targetAt,
} from './http2-upstream.ts'

const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

async function start(
  answer: (call: CallSeen) => void = sayOk,
  settings = {},
): Promise<{ server: GrpcServer; upstream: TestUpstream }> {
  const server = await startGrpcServer(answer, settings)
  const upstream = startUpstream()
  open.push(server, upstream)
  return { server, upstream }
}

describe('a gRPC call to an upstream', () => {
  it('arrives as HTTP/2 with its path byte for byte, its fields in order, te: trailers, and no field of the hop', async () => {
    const { server, upstream } = await start()
    const { exchange, done } = call(upstream, server.target({ pathPrefix: '/v1' }), {
      target: '/a.B/C%2fd',
      headers: [
        'X-One-Bin',
        'AAH/',
        'x-two',
        'caf\u00e9',
        'X-TWO',
        'b',
        'Expect',
        '100-continue',
        'host',
        'x',
      ],
    })
    await done
    expect(server.seen[0]?.raw).toEqual([
      ...[':method', 'POST', ':scheme', 'https', ':authority', HOST, ':path', '/v1/a.B/C%2fd'],
      ...['te', 'trailers', 'content-type', 'application/grpc'],
      ...['x-one-bin', 'AAH/', 'x-two', 'caf\u00e9', 'x-two', 'b'],
    ])
    expect(String(server.seen[0]?.chunks)).toBe('hello')
    expect(exchange.reply).toMatchObject({ status: 200, state: 'ended' })
    expect(exchange.reply.text()).toBe('world')
    expect(exchange.reply.trailers).toEqual(['grpc-status', '0', 'x-bin', 'AAH/'])
    expect(exchange.outcome).toMatchObject({ status: 200, errorType: null, note: null })
  })

  it('carries an answer of trailers only as one head without a body', async () => {
    const { server, upstream } = await start(({ stream }) =>
      stream.respond(
        { ':status': 200, 'grpc-status': '5', 'grpc-message': 'no such thing' },
        { endStream: true },
      ),
    )
    const { exchange, done } = call(upstream, server.target())
    await done
    expect(exchange.reply.header('grpc-status')).toBe('5')
    expect(exchange.reply.header('grpc-message')).toBe('no such thing')
    expect(exchange.reply).toMatchObject({ state: 'ended', trailers: null, chunks: [] })
  })

  it('carries interim answers before the one that counts', async () => {
    const { server, upstream } = await start((seen) => {
      seen.stream.additionalHeaders({ ':status': 103, link: '</a>' })
      sayOk(seen)
    })
    const { exchange, done } = call(upstream, server.target())
    await done
    expect(exchange.reply.interims).toEqual([103])
    expect(exchange.reply).toMatchObject({ status: 200, state: 'ended' })
  })

  it('runs in both directions at once: each message is answered before the next is sent', async () => {
    const { server, upstream } = await start((seen) => {
      seen.stream.respond({ ':status': 200 }, { waitForTrailers: true })
      seen.stream.on('data', (chunk) => seen.stream.write(chunk))
      seen.stream.on('end', () => seen.stream.end())
      seen.stream.on('wantTrailers', () => seen.stream.sendTrailers({ 'grpc-status': '0' }))
    })
    const body = openBody()
    const { exchange, done } = call(upstream, server.target(), { body })
    for (let i = 0; i < 10; i++) {
      body.push(`<${i}>`)
      await eventually(`answer ${i}`, () => (exchange.reply.text().endsWith(`<${i}>`) ? true : null))
      expect(exchange.reply.state).toBe('streaming')
    }
    body.push(null)
    await done
    expect(exchange.reply.trailers).toEqual(['grpc-status', '0'])
  })

  it('makes the upstream wait for a slow agent', async () => {
    const state = { written: 0 }
    const { server, upstream } = await start(({ stream }) => {
      stream.respond({ ':status': 200 })
      const more = () => {
        while (state.written < 8 * 1024 * 1024) {
          state.written += 65_536
          if (!stream.write(Buffer.alloc(65_536))) return void stream.once('drain', more)
        }
        stream.end()
      }
      more()
    })
    const { exchange, done } = call(upstream, server.target())
    exchange.reply.isSlow = true
    await eventually('the first bytes', () => (exchange.reply.chunks.length > 0 ? true : null))
    await stillness(() => state.written)
    expect(state.written).toBeLessThan(4 * 1024 * 1024)
    exchange.reply.drain()
    await done
    expect(exchange.reply.bytesOut).toBe(8 * 1024 * 1024)
  })

  it('makes the agent wait for a slow upstream', async () => {
    const { server, upstream } = await start(({ stream }) => {
      stream.pause()
      stream.respond({ ':status': 200 })
    })
    const body = openBody()
    const { exchange } = call(upstream, server.target(), { body })
    exchange.abort.signal.addEventListener('abort', () => body.destroy())
    await eventually('the head', () => (exchange.reply.state === 'streaming' ? true : null))
    for (let i = 0; i < 128; i++) body.push(Buffer.alloc(65_536))
    await eventually('the pause', () => (body.isPaused() ? true : null))
    expect(body.readableLength).toBeGreaterThan(4 * 1024 * 1024)
    server.seen[0]?.stream.resume()
    await eventually('the rest', () => (server.seen[0]?.bytes === 128 * 65_536 ? true : null))
    exchange.abort.abort()
  })

  it('is sent over HTTP/1.1 when it is no gRPC call, or did not arrive over HTTP/2', async () => {
    const versions: string[] = []
    const answer = (request: IncomingMessage) => versions.push(request.httpVersion)
    const server = createHttp((request, response) => {
      answer(request)
      response.end('ok')
    })
    await listen(server)
    const upstream = startUpstream()
    open.push(upstream)
    const target = targetAt(portOf(server), { isTls: false })
    for (const [type, httpVersion] of [
      ['application/json', '2'],
      ['application/grpc-web+proto', '2'],
      ['application/grpc', '1.1'],
    ] as const) {
      const exchange = testExchange({ headers: ['content-type', type], httpVersion })
      const { method, target: path, rawHeaders } = exchange.raw
      await upstream.forward(exchange, { target, method, path, rawHeaders, body: null })
    }
    expect(versions).toEqual(['1.1', '1.1', '1.1'])
  })
})

describe('a gRPC call that is cut', () => {
  it('is taken back from the upstream when the agent leaves, and its body never ends in good order', async () => {
    const { server, upstream } = await start(({ stream }) => stream.respond({ ':status': 200 }))
    const body = openBody()
    const { exchange, done } = call(upstream, server.target(), { body })
    body.push('first message')
    await eventually('the message', () => (server.seen[0]?.bytes === 13 ? true : null))
    await eventually('the head', () => (exchange.reply.state === 'streaming' ? true : null))
    const gone = once(server.seen[0]?.stream ?? body, 'close')
    exchange.abort.abort(new Error('the agent disconnected'))
    await gone
    expect(server.seen[0]?.stream.rstCode).toBe(8)
    expect(server.seen[0]?.isEnded).toBe(false)
    await done
    expect(exchange.reply.state).toBe('destroyed')
    expect(exchange.outcome.note).toBe('cut')
  })

  it('sends no end of the body before the reset, frame by frame', async () => {
    const { server, frames } = await scriptedServer()
    const upstream = startUpstream()
    open.push(upstream)
    const body = openBody()
    const { exchange, done } = call(upstream, targetAt(portOf(server)), { body })
    body.push('part')
    await eventually('the data', () => (frames().some(({ type }) => type === DATA) ? true : null))
    exchange.abort.abort(new Error('the agent disconnected'))
    await expect(done).rejects.toThrow()
    await eventually('the reset', () => (frames().some(({ type }) => type === RESET) ? true : null))
    const data = frames().filter(({ type }) => type === DATA)
    expect(data.map(({ flags }) => flags & END_STREAM)).toEqual(data.map(() => 0))
  })

  it('is reported to the agent when the upstream resets it, before and after its head, and is not sent again', async () => {
    const { server, upstream } = await start(({ stream, raw }) => {
      if (raw.includes('late')) stream.respond({ ':status': 200 })
      // Closing would end the body in good order first.
      if (raw.includes('late')) stream.write('abc', () => stream.destroy(new Error('failed')))
      else stream.destroy(new Error('failed'))
    })
    const early = call(upstream, server.target())
    await expect(early.done).rejects.toMatchObject({ code: 'upstream_failed' })
    const late = call(upstream, server.target(), { headers: ['x-when', 'late'] })
    await late.done
    expect(late.exchange.reply.state).toBe('destroyed')
    expect(late.exchange.outcome).toMatchObject({ note: 'cut', errorType: 'connect' })
    expect(server.seen).toHaveLength(2)
  })

  it('is distinguished from a failed one when the upstream refused it unprocessed', async () => {
    const { server, upstream } = await start(({ stream }) => stream.close(7))
    await expect(call(upstream, server.target()).done).rejects.toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('before processing it'),
    })
    expect(server.seen).toHaveLength(1)
  })

  it('never ends in good order when the connection is lost in the middle of the answer', async () => {
    const { server, upstream } = await start(({ stream }) => {
      stream.respond({ ':status': 200 })
      stream.write('abc', () => stream.session?.socket.destroy())
    })
    const { exchange, done } = call(upstream, server.target())
    await done
    expect(exchange.reply.state).toBe('destroyed')
    expect(exchange.outcome).toMatchObject({ note: 'cut', errorType: 'connect' })
    expect(server.seen).toHaveLength(1)
  })

  it('ends with the answer when the upstream answers before the whole request came', async () => {
    const { server, upstream } = await start((seen) => sayOk(seen))
    const body = openBody()
    const { exchange, done } = call(upstream, server.target(), { body })
    body.push('some')
    await done
    expect(exchange.reply).toMatchObject({ state: 'ended', trailers: ['grpc-status', '0', 'x-bin', 'AAH/'] })
    await eventually('the end of the stream', () => (server.seen[0]?.stream.closed === true ? true : null))
    expect(server.seen[0]?.isEnded).toBe(false)
    expect(server.open.size).toBe(1)
  })

  it('sends nothing more of a whole body either, once the upstream has answered', async () => {
    const { server, upstream } = await start((seen) => {
      seen.stream.pause()
      sayOk(seen)
    })
    const { exchange, done } = call(upstream, server.target(), { body: Buffer.alloc(4 * 1024 * 1024) })
    await done
    expect(exchange.reply.trailers).toEqual(['grpc-status', '0', 'x-bin', 'AAH/'])
    await eventually('the reset', () => (server.seen[0]?.stream.rstCode === 8 ? true : null))
    expect(server.seen[0]?.isEnded).toBe(false)
  })

  it('is not sent again when the connection breaks during it', async () => {
    const { server, upstream } = await start(({ stream }) => stream.session?.socket.destroy())
    await expect(call(upstream, server.target()).done).rejects.toMatchObject({ code: 'upstream_failed' })
    expect(server.seen).toHaveLength(1)
  })

  it('is cut when nothing moves either way for the idle limit', async () => {
    const server = await startGrpcServer(({ stream }) => stream.respond({ ':status': 200 }))
    const upstream = startUpstream({ idleTimeoutMs: 120 })
    open.push(server, upstream)
    const { exchange, done } = call(upstream, server.target(), { body: openBody() })
    await done
    expect(exchange.outcome).toMatchObject({ note: 'cut', errorType: 'timeout' })
    await eventually('the reset', () => (server.seen[0]?.stream.rstCode === 8 ? true : null))
  })
})

describe('an upstream that does not play by the rules', () => {
  it.each([
    ['answers with 2,000 header fields', (seen: CallSeen) => seen.stream.respond(manyFields(2_000))],
    [
      'answers with interim answers without an end',
      ({ stream }: CallSeen) => {
        for (let i = 0; i < 100; i++) stream.additionalHeaders({ ':status': 103 })
      },
    ],
    ['says goodbye with an error', ({ stream }: CallSeen) => stream.session?.destroy(undefined, 11)],
  ])('fails the call when it %s, and the next call is served', async (_what, answer) => {
    const state = { isHostile: true }
    const { server, upstream } = await start((seen) => (state.isHostile ? answer(seen) : sayOk(seen)))
    await expect(call(upstream, server.target()).done).rejects.toMatchObject({ code: 'upstream_failed' })
    state.isHostile = false
    const { exchange, done } = call(upstream, server.target())
    await done
    expect(exchange.reply.trailers).toEqual(['grpc-status', '0', 'x-bin', 'AAH/'])
    expect(server.seen).toHaveLength(2)
  })
})

function manyFields(count: number): Record<string, string> {
  return Object.fromEntries(Array.from({ length: count }, (_, i) => [`x-${i}`, 'y']))
}

describe('an upstream that cannot be called', () => {
  it.each([
    ['refuses h2 by ALPN', () => createHttps({ ...ca.issue(HOST), ALPNProtocols: ['http/1.1'] })],
    ['knows no ALPN', () => createTls({ ...ca.issue(HOST) })],
  ])('is reported separately when it %s, and was sent nothing', async (_what, make) => {
    const server = make()
    let bytes = 0
    server.on('secureConnection', (socket: TLSSocket) => {
      socket.on('error', () => socket.destroy())
      socket.on('data', (chunk) => {
        bytes += chunk.length
      })
    })
    await listen(server)
    const upstream = startUpstream()
    open.push(upstream)
    await expect(call(upstream, targetAt(portOf(server))).done).rejects.toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('does not support HTTP/2'),
    })
    expect(bytes).toBe(0)
  })

  it('is reported when it answers in HTTP/1.1 without TLS, and is sent no credential', async () => {
    let text = ''
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      socket.on('data', (chunk) => {
        text += chunk.toString('latin1')
        socket.end('HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n')
      })
    })
    await listen(server)
    const upstream = startUpstream()
    open.push(upstream)
    const { done } = call(upstream, targetAt(portOf(server), { isTls: false }), {
      headers: ['authorization', 'Bearer secret'],
    })
    await expect(done).rejects.toMatchObject({
      code: 'upstream_failed',
      message: expect.stringContaining('does not support HTTP/2'),
    })
    expect(text).toMatch(/^PRI \* HTTP\/2\.0/)
    expect(text).not.toContain('secret')
  })

  it('is refused before a byte when its address is private or its certificate is another name’s', async () => {
    const { server, upstream } = await start()
    const guarded = call(upstream, server.target({ allowPrivateAddresses: false }))
    await expect(guarded.done).rejects.toMatchObject({ code: 'address_refused' })
    const stranger = call(upstream, server.target({ identities: ['other.example.test'] }))
    await expect(stranger.done).rejects.toMatchObject({ code: 'upstream_tls' })
    const unknown = call(upstream, server.target({ caBundle: createTestCa().cert }))
    await expect(unknown.done).rejects.toMatchObject({ code: 'upstream_tls' })
    expect(server.seen).toHaveLength(0)
  })

  it('is dialled at the checked address: a name that changes its mind is asked once a session', async () => {
    const server = await startGrpcServer(sayOk)
    const asked: string[] = []
    const upstream = startUpstream({
      resolve: async (host) => {
        asked.push(host)
        return [{ address: asked.length === 1 ? '127.0.0.1' : '169.254.169.254', family: 4 }]
      },
    })
    open.push(server, upstream)
    const target = server.target({ host: 'rebind.example.test' })
    await call(upstream, target).done
    await call(upstream, target).done
    expect(asked).toEqual(['rebind.example.test'])
    expect(server.seen).toHaveLength(2)
    for (const session of server.sessions) session.close()
    await eventually('the end of the session', () => (server.open.size === 0 ? true : null))
    await expect(call(upstream, target).done).rejects.toMatchObject({ code: 'address_refused' })
    expect(server.seen).toHaveLength(2)
  })
})

const DATA = 0
const RESET = 3
const END_STREAM = 1

/** Sends its settings and then only listens. */
async function scriptedServer() {
  let bytes = Buffer.alloc(0)
  const server = createTls({ ...ca.issue(HOST), ALPNProtocols: ['h2'] }, (socket) => {
    socket.on('error', () => socket.destroy())
    socket.on('data', (chunk: Buffer) => {
      bytes = Buffer.concat([bytes, chunk])
    })
    socket.write(Buffer.from('000000040000000000', 'hex'))
  })
  await listen(server)
  const preface = 24
  const frames = (): { type: number; flags: number }[] => {
    const found = []
    for (let at = preface; bytes.length - at >= 9; at += 9 + bytes.readUIntBE(at, 3)) {
      found.push({ type: bytes.readUInt8(at + 3), flags: bytes.readUInt8(at + 4) })
    }
    return found
  }
  return { server, frames }
}

type Listening = { listen(port: number, host: string): unknown; close(): unknown } & NodeJS.EventEmitter

async function listen(server: Listening): Promise<void> {
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('error', () => socket.destroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  open.push({
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  })
}

function portOf(server: { address(): unknown }): number {
  return (server.address() as AddressInfo).port
}

/** Waits until a figure has not changed for ten looks. */
async function stillness(figure: () => number): Promise<void> {
  const state = { last: figure(), looks: 0 }
  await eventually('stillness', () => {
    const now = figure()
    state.looks = now === state.last ? state.looks + 1 : 0
    state.last = now
    return state.looks >= 10 ? true : null
  })
}
