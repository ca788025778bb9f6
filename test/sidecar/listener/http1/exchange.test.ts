import type { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { bodyOf, type Handle, type RawClient, rawClient, startFront, tlsTunnel, until } from '../harness.ts'

const GET = 'GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n'
const post = (headers: string, body = ''): string =>
  `POST http://a.example/x HTTP/1.1\r\nHost: a.example\r\n${headers}\r\n\r\n${body}`

const ok: Handle = async ({ reply }) => reply.send(200, [], 'ok')

async function collect(body: Buffer | Readable | null): Promise<Buffer> {
  if (body === null || Buffer.isBuffer(body)) return body ?? Buffer.alloc(0)
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks)
}

/** Ends the reply from outside, so that a test decides when. */
function gate(): { readonly opened: Promise<void>; open: () => void } {
  let open = (): void => {}
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { opened, open }
}

describe('a request body', () => {
  it('that came with its head is one buffer, and no stream is made', async () => {
    const seen: unknown[] = []
    await using t = await startFront({
      handle: async ({ body, reply }) => {
        seen.push(body.forward(), body.isEmpty, body.bytesIn)
        reply.send(200, [], '')
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Content-Length: 5\r\nConnection: close', 'hello'))
    await client.all()
    expect(seen).toEqual([Buffer.from('hello'), false, 5])
  })

  it('that comes right behind its head is awaited, so that it is one buffer too', async () => {
    const seen: unknown[] = []
    await using t = await startFront({
      handle: async ({ body, reply }) => {
        seen.push(await body.buffer(100), body.forward())
        reply.send(200, [], '')
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Transfer-Encoding: chunked'))
    for (const piece of ['2', '\r\nhe\r', '\n3\r\nll', 'o\r\n0', '\r\n', 'T: 1\r\n\r', '\n']) {
      await new Promise((resolve) => client.socket.write(piece, resolve))
    }
    await client.until(({ received }) => received.includes('\r\n\r\n'))
    expect(seen).toEqual([Buffer.from('hello'), Buffer.from('hello')])
  })

  it('longer than asked for gives null, and what was read is replayed to the forwarder', async () => {
    const bytes = Buffer.alloc(300_000, 'abcdefg')
    const result: { whole?: unknown; forwarded?: Buffer } = {}
    await using t = await startFront({
      handle: async ({ body, reply }) => {
        result.whole = await body.buffer(100_000)
        result.forwarded = await collect(body.forward())
        reply.send(200, [], '')
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Transfer-Encoding: chunked'))
    client.send('493e0\r\n').send(bytes).send('\r\n0\r\n\r\n')
    await client.until(({ received }) => received.includes('\r\n\r\n'))
    expect(result.whole).toBeNull()
    expect(result.forwarded?.equals(bytes)).toBe(true)
  })

  it('that breaks its framing after the head fails for its reader with 400 and closes the connection', async () => {
    let failure: unknown
    await using t = await startFront({
      handle: async ({ body, reply }) => {
        failure = await body.buffer(1_000).catch((error: unknown) => error)
        reply.send(400, [], 'bad')
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Transfer-Encoding: chunked', '2\r\nab\r\n'))
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    client.send('nonsense\r\nGET http://a.example/smuggled HTTP/1.1\r\nHost: a.example\r\n\r\n')
    expect(await client.all()).toMatch(/^HTTP\/1\.1 400 .*Connection: close/s)
    expect(failure).toMatchObject({ code: 'malformed_request' })
    expect(t.exchanges).toHaveLength(1)
  })

  it('fails for its reader when the client leaves in the middle', async () => {
    let failure: unknown
    await using t = await startFront({
      handle: async ({ body }) => {
        failure = await body.buffer(1_000).catch((error: unknown) => error)
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Content-Length: 10', 'abc'))
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    client.socket.destroy()
    await until(
      () => failure !== undefined,
      () => 'the failure',
    )
    expect(String(failure)).toContain('the client closed the connection')
    expect(t.exchanges[0]?.abort.signal.aborted).toBe(true)
  })

  it('causes 100 (Continue) only when a stage reads it', async () => {
    const go = gate()
    await using t = await startFront({
      handle: async ({ body, reply }) => {
        await go.opened
        reply.send(200, [], (await body.buffer(100)) ?? 'too long')
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Content-Length: 5\r\nExpect: 100-continue'))
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    expect(client.received).toBe('')
    go.open()
    await client.until(({ received }) => received === 'HTTP/1.1 100 Continue\r\n\r\n')
    client.send('hello')
    await client.until(({ received }) => received.endsWith('hello'))
    expect(client.received.match(/100 Continue/g)).toHaveLength(1)
  })

  it('is never asked for when the request is refused; the connection then ends', async () => {
    await using t = await startFront({ handle: async ({ reply }) => reply.send(403, [], 'no') })
    const client = await rawClient(t.port)
    client.send(post('Content-Length: 5\r\nExpect: 100-continue'))
    const answer = await client.all()
    expect(answer).toMatch(/^HTTP\/1\.1 403 .*Connection: close/s)
  })

  it('that was not read is drained when small, and the connection stays open', async () => {
    await using t = await startFront({ handle: ok })
    const client = await rawClient(t.port)
    client.send(post('Content-Length: 100000'))
    await client.until(({ received }) => received.endsWith('ok'))
    client.send(Buffer.alloc(100_000, 'GET / HTTP/1.1\r\n')).send(GET)
    await client.until(({ received }) => received.split('200 OK').length === 3)
    expect(client.received).not.toContain('Connection: close')
    expect(t.exchanges.map((e) => e.raw.method)).toEqual(['POST', 'GET'])
  })

  it('that was not read and is large ends the connection after the client could read the answer', async () => {
    await using t = await startFront({ handle: async ({ reply }) => reply.send(403, [], 'no'.repeat(1000)) })
    const client = await rawClient(t.port)
    client.send(post('Transfer-Encoding: chunked'))
    for (let i = 0; i < 40; i++) client.send('10000\r\n').send(Buffer.alloc(65_536)).send('\r\n')
    const answer = await client.all()
    expect(bodyOf(answer)).toBe('no'.repeat(1000))
    expect(client.error).toBeNull()
  })
})

describe('one connection', () => {
  it('answers pipelined requests in order and begins the next only when the reply before it ended', async () => {
    const gates = [gate(), gate(), gate()]
    await using t = await startFront({
      handle: async ({ reply, raw }) => {
        await gates[Number(raw.target.at(-1))]?.opened
        reply.send(200, [], `<${raw.target.at(-1)}>`)
      },
    })
    const client = await rawClient(t.port)
    client.send(
      [0, 1, 2].map((i) => `GET http://a.example/${i} HTTP/1.1\r\nHost: a.example\r\n\r\n`).join(''),
    )
    for (const [i, one] of gates.entries()) {
      await until(
        () => t.exchanges.length === i + 1,
        () => `request ${i}`,
      )
      one.open()
      await client.until(({ received }) => received.endsWith(`<${i}>`))
    }
  })

  it('answers five thousand pipelined requests without growing the stack', async () => {
    await using t = await startFront({ handle: ok })
    const client = await rawClient(t.port)
    client.send(GET.repeat(5_000))
    await client.until(({ received }) => received.split('200 OK').length === 5_001)
    expect(t.front.connections).toBe(1)
  })

  it('is closed after a malformed request, which leaves one exchange, and reads nothing behind it', async () => {
    await using t = await startFront({ handle: ok })
    const client = await rawClient(t.port)
    client.send(`GET http://a.example/ HTTP/1.1\r\nHost : a.example\r\n\r\n${GET}`)
    const answer = await client.all()
    expect(answer).toMatch(/^HTTP\/1\.1 400 .*Connection: close/s)
    expect(answer.match(/HTTP\/1\.1/g)).toHaveLength(1)
    expect(t.exchanges).toHaveLength(1)
    expect(t.exchanges[0]).toMatchObject({
      malformed: { code: 'malformed_request' },
      raw: { method: 'GET', target: 'http://a.example/' },
    })
  })

  it('gets 431 and one exchange for a head that is too large', async () => {
    await using t = await startFront({ handle: ok })
    const client = await rawClient(t.port)
    client.send(`GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\nX: ${'a'.repeat(40_000)}`)
    expect(await client.all()).toMatch(/^HTTP\/1\.1 431 /)
    expect(client.error).toBeNull()
    expect(t.exchanges).toHaveLength(1)
  })

  it('gets 400 and one exchange for a head that comes too slowly', async () => {
    await using t = await startFront({ handle: ok, limits: { headTimeoutMs: 100 } })
    const client = await rawClient(t.port)
    client.send('GET http://a.example/ HTTP/1.1\r\nHost: a')
    const answer = await client.all()
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('not complete after 100 ms')
    expect(t.exchanges).toHaveLength(1)
  })

  it('gets 400 and one exchange when it ends inside a head', async () => {
    await using t = await startFront({ handle: ok })
    const client = await rawClient(t.port, { allowHalfOpen: true })
    client.send('GET http://a.example/ HTTP/1.1\r\nHost: a')
    client.socket.end()
    expect(await client.all()).toMatch(/^HTTP\/1\.1 400 /)
    expect(t.exchanges).toHaveLength(1)
  })

  it('is ended without a record when it is idle for too long', async () => {
    await using t = await startFront({ handle: ok, limits: { idleTimeoutMs: 100 } })
    const client = await rawClient(t.port)
    client.send(GET)
    expect(await client.all()).toMatch(/ok$/)
    expect(t.exchanges).toHaveLength(1)
  })

  it('is not cut while a reply streams slower than the idle time-out', async () => {
    const go = gate()
    await using t = await startFront({
      limits: { idleTimeoutMs: 100, headTimeoutMs: 100 },
      handle: async ({ reply }) => {
        const stream = reply.stream(200, ['Content-Type', 'text/event-stream'], true)
        stream.write(Buffer.from('data: 1\n\n'))
        await go.opened
        stream.end()
      },
    })
    const client = await rawClient(t.port)
    client.send(GET)
    await client.until(({ received }) => received.includes('data: 1'))
    const idle = await rawClient(t.port)
    // The sweep that ends this idle connection has looked at the streaming one as well.
    await idle.all()
    const second = await rawClient(t.port)
    await second.all()
    expect(client.isEnded).toBe(false)
    go.open()
    await client.until(({ received }) => received.includes('0\r\n\r\n'))
  })

  it('is cut, and its exchange aborted, when the client stops sending in the middle of a body', async () => {
    await using t = await startFront({
      limits: { idleTimeoutMs: 100 },
      handle: async ({ body, reply }) => {
        await body.buffer(1_000).catch(() => null)
        reply.send(400, [], '')
      },
    })
    const client = await rawClient(t.port)
    client.send(post('Content-Length: 10', 'abc'))
    await client.until(({ isClosed }) => isClosed)
    expect(String(t.exchanges[0]?.abort.signal.reason)).toContain('too long')
  })

  it('answers 500 when the handler fails or sends no reply, with the cause in the log only', async () => {
    await using t = await startFront({
      handle: async ({ raw }) => {
        if (raw.target.endsWith('/throw')) throw new Error('secret')
      },
    })
    for (const path of ['throw', 'forget']) {
      const client = await rawClient(t.port)
      client.send(`GET http://a.example/${path} HTTP/1.1\r\nHost: a.example\r\n\r\n`)
      const answer = await client.all()
      expect(answer).toMatch(/^HTTP\/1\.1 500 .*Connection: close/s)
      expect(answer).not.toContain('secret')
    }
    expect(JSON.stringify(t.failures, (_, v) => (v instanceof Error ? v.message : v))).toContain('secret')
  })
})

describe('a client that leaves', () => {
  it.each([
    ['with FIN', (client: RawClient) => client.socket.end()],
    ['with a reset', (client: RawClient) => client.socket.resetAndDestroy()],
  ])('%s aborts the exchange that it waited for', async (_how, leave) => {
    let gone: unknown
    await using t = await startFront({
      handle: ({ abort }) =>
        new Promise((resolve) => {
          abort.signal.addEventListener('abort', () => {
            gone = abort.signal.reason
            resolve()
          })
        }),
    })
    const client = await rawClient(t.port)
    client.send(GET)
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    leave(client)
    await until(
      () => gone !== undefined,
      () => 'the abort',
    )
    expect(String(gone)).toContain('the client closed the connection')
    await until(
      () => t.front.connections === 0,
      () => 'the connection to be forgotten',
    )
  })

  it('inside TLS aborts the exchange as well', async () => {
    await using t = await startFront({ handle: () => new Promise(() => {}) })
    const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['http/1.1'] })
    secure.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    secure.destroy()
    await until(
      () => t.exchanges[0]?.abort.signal.aborted === true,
      () => 'the abort',
    )
  })

  it('only half still receives the response', async () => {
    await using t = await startFront({
      handle: ({ abort, reply }) =>
        new Promise((resolve) => {
          abort.signal.addEventListener('abort', () => {
            reply.send(503, [], 'too late')
            resolve()
          })
        }),
    })
    const client = await rawClient(t.port, { allowHalfOpen: true })
    client.send(GET)
    client.socket.end()
    expect(await client.all()).toMatch(/^HTTP\/1\.1 503 .*too late$/s)
  })

  it('does not abort what was answered before', async () => {
    await using t = await startFront({ handle: ok })
    const client = await rawClient(t.port)
    client.send(GET)
    await client.until(({ received }) => received.endsWith('ok'))
    client.socket.destroy()
    await until(
      () => t.front.connections === 0,
      () => 'the connection to be forgotten',
    )
    expect(t.exchanges[0]?.abort.signal.aborted).toBe(false)
  })
})
