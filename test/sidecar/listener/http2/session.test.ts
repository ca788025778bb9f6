import { once } from 'node:events'
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from 'node:http2'
import { Readable } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { frame, headersFrame, speakHttp2, TYPE } from '../../../support/raw-http2.ts'
import { type Handle, startFront, type TestFront, tlsTunnel, tunnel, until } from '../harness.ts'

async function open(t: TestFront): Promise<ClientHttp2Session> {
  const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['h2'] })
  const session = connect('https://a.example', { createConnection: () => secure })
  session.on('error', () => {})
  return session
}

type Answer = {
  status: unknown
  headers: Record<string, unknown>
  body: string
  trailers: Record<string, unknown>
}

async function read(stream: ClientHttp2Stream): Promise<Answer> {
  const answer: Answer = { status: 0, headers: {}, body: '', trailers: {} }
  stream.on('trailers', (trailers) => Object.assign(answer.trailers, trailers))
  stream.on('data', (chunk) => (answer.body += chunk))
  const closed = once(stream, 'close')
  const [headers] = await once(stream, 'response')
  Object.assign(answer.headers, headers)
  answer.status = headers[':status']
  await closed
  return answer
}

const ok: Handle = async ({ reply }) => reply.send(200, ['X-A', '1'], 'ok')

describe('HTTP/2 inside a tunnel', () => {
  it('makes every stream an exchange with its authority, target, headers in order and joined cookies', async () => {
    await using t = await startFront()
    const session = await open(t)
    const stream = session.request([
      ':method',
      'POST',
      ':path',
      '/a%2Fb?x=1',
      ':scheme',
      'https',
      ':authority',
      'a.example',
      'x-b',
      '1',
      'cookie',
      'a=1',
      'x-a',
      '2',
      'cookie',
      'b=2',
      'x-b',
      '3',
    ] as never)
    stream.end('hello')
    const answer = await read(stream)
    expect(answer.status).toBe(200)
    expect(JSON.parse(answer.body)).toMatchObject({
      method: 'POST',
      target: '/a%2Fb?x=1',
      transport: 'connect-h2',
      kind: 'http',
      scheme: 'https',
      body: 'hello',
      headers: ['x-b', '1', 'cookie', 'a=1; b=2', 'x-a', '2', 'x-b', '3'],
      sources: { connectAuthority: 'a.example:443', sni: 'a.example', authority: 'a.example' },
    })
    expect(t.exchanges[0]?.raw.httpVersion).toBe('2')
    session.destroy()
  })

  it('speaks with prior knowledge on an unencrypted tunnel', async () => {
    await using t = await startFront()
    const { socket } = await tunnel(t.port, 'a.example:80')
    socket.removeAllListeners('data')
    const session = connect('http://a.example', { createConnection: () => socket })
    const answer = await read(session.request({ ':path': '/plain' }))
    expect(JSON.parse(answer.body)).toMatchObject({
      target: '/plain',
      scheme: 'http',
      transport: 'connect-h2',
    })
    session.destroy()
  })

  it('serves a hundred streams of one connection at once', async () => {
    await using t = await startFront()
    const session = await open(t)
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        const stream = session.request({ ':method': 'POST', ':path': `/${i}` })
        stream.end(`body ${i}`)
        return read(stream)
      }),
    )
    expect(answers.map((a) => JSON.parse(a.body).body)).toEqual(answers.map((_, i) => `body ${i}`))
    expect(t.front.connections).toBe(1)
    session.destroy()
  })

  it('answers with duplicates kept, hop fields left out, and trailers', async () => {
    await using t = await startFront({
      handle: async ({ reply }) => {
        const stream = reply.stream(
          200,
          [
            'Set-Cookie',
            'a',
            'Set-Cookie',
            'b',
            'Connection',
            'x',
            'Transfer-Encoding',
            'chunked',
            'Content-Type',
            'application/grpc',
          ],
          true,
        )
        stream.write(Buffer.from('abc'))
        stream.end(['grpc-status', '0'])
      },
    })
    const session = await open(t)
    const answer = await read(session.request({ ':path': '/', te: 'trailers' }))
    expect(answer.headers['set-cookie']).toEqual(['a', 'b'])
    expect(answer.headers).not.toHaveProperty('connection')
    expect(answer.headers).not.toHaveProperty('transfer-encoding')
    expect(answer).toMatchObject({ body: 'abc', trailers: { 'grpc-status': '0' } })
    session.destroy()
  })

  it('sends no body to HEAD and with 204 or 304', async () => {
    for (const [method, status] of [
      ['HEAD', 200],
      ['GET', 204],
      ['GET', 304],
    ] as const) {
      await using t = await startFront({
        handle: async ({ reply }) => {
          const stream = reply.stream(status, status === 200 ? ['Content-Length', '3'] : [], true)
          stream.write(Buffer.from('abc'))
          stream.end()
        },
      })
      const session = await open(t)
      expect(await read(session.request({ ':method': method, ':path': '/' }))).toMatchObject({
        status,
        body: '',
      })
      session.destroy()
    }
  })

  it('aborts the exchange when the client cancels the stream, and serves the others', async () => {
    let isGone = false
    await using t = await startFront({
      handle: ({ raw, reply, abort }) =>
        new Promise((resolve) => {
          if (raw.target === '/ok') {
            reply.send(200, [], 'ok')
            resolve()
          }
          abort.signal.addEventListener('abort', () => {
            isGone = true
            resolve()
          })
        }),
    })
    const session = await open(t)
    const held = session.request({ ':path': '/held' })
    held.on('error', () => {})
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    held.close(constants.NGHTTP2_CANCEL)
    await until(
      () => isGone,
      () => 'the abort',
    )
    expect(await read(session.request({ ':path': '/ok' }))).toMatchObject({ body: 'ok' })
    session.destroy()
  })

  it('aborts every exchange when the connection goes', async () => {
    await using t = await startFront({ handle: () => new Promise(() => {}) })
    const session = await open(t)
    for (let i = 0; i < 3; i++) session.request({ ':path': `/${i}` }).on('error', () => {})
    await until(
      () => t.exchanges.length === 3,
      () => 'the exchanges',
    )
    session.destroy()
    await until(
      () => t.exchanges.every((e) => e.abort.signal.aborted),
      () => 'the aborts',
    )
  })

  it('does not abort what was answered', async () => {
    await using t = await startFront({ handle: ok })
    const session = await open(t)
    expect(await read(session.request({ ':path': '/' }))).toMatchObject({
      status: 200,
      body: 'ok',
      headers: { 'x-a': '1' },
    })
    session.destroy()
    await until(
      () => t.front.connections === 0,
      () => 'the connection to go',
    )
    expect(t.exchanges[0]?.abort.signal.aborted).toBe(false)
  })

  it('resets a stream whose answer was cut off or is shorter than announced', async () => {
    for (const isShort of [true, false]) {
      await using t = await startFront({
        handle: async ({ reply }) => {
          const stream = reply.stream(200, ['content-length', '10'], true)
          stream.write(Buffer.from('abc'))
          if (isShort) stream.end()
          else stream.destroy()
        },
      })
      const session = await open(t)
      const stream = session.request({ ':path': '/' })
      const failed = once(stream, 'error')
      stream.resume()
      await expect(failed).resolves.toBeDefined()
      session.destroy()
    }
  })

  it('never ends a request body in good order that the client took back', async () => {
    const ends: string[] = []
    await using t = await startFront({
      handle: ({ body, abort }) =>
        new Promise((resolve) => {
          const source = body.forward()
          if (!(source instanceof Readable)) throw new Error('the body is not a stream')
          source.on('end', () => ends.push('end')).on('error', () => ends.push('error'))
          source.resume()
          abort.signal.addEventListener('abort', () => source.once('close', resolve))
        }),
    })
    const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['h2'] })
    const pairs = [
      [':method', 'POST'],
      [':path', '/'],
      [':scheme', 'https'],
      [':authority', 'a.example'],
    ] as const
    const cancel = Buffer.from([0, 0, 0, constants.NGHTTP2_CANCEL])
    const frames = [
      headersFrame(1, pairs, { isEnd: false }),
      frame(TYPE.data, 0, 1, Buffer.from('part')),
      frame(TYPE.reset, 0, 1, cancel),
    ]
    void speakHttp2(secure, frames, () => false)
    await until(
      () => ends.length > 0,
      () => 'the end of the body',
    )
    expect(ends).toEqual(['error'])
    secure.destroy()
  })

  it('never ends a body in good order that was cut, whatever the client said of trailers', async () => {
    for (const te of [[], [['te', 'trailers']]] as const) {
      let cut: () => void = () => undefined
      await using t = await startFront({
        handle: async ({ reply }) => {
          const stream = reply.stream(200, [], true)
          stream.write(Buffer.from('abc'))
          cut = () => stream.destroy()
        },
      })
      const secure = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['h2'] })
      const pairs = [
        [':method', 'GET'],
        [':path', '/'],
        [':scheme', 'https'],
        [':authority', 'a.example'],
        ...te,
      ] as const
      const session = await speakHttp2(secure, [headersFrame(1, pairs)], ({ streams }) => {
        const stream = streams.get(1)
        if (stream?.body === 'abc') cut()
        return stream?.reset !== null && stream?.reset !== undefined
      })
      expect(session.streams.get(1)).toMatchObject({
        status: 200,
        isEnded: false,
        reset: constants.NGHTTP2_INTERNAL_ERROR,
      })
      secure.destroy()
    }
  })

  it('makes the writer wait for a slow reader', async () => {
    const total = 4 * 1024 * 1024
    let waits = 0
    await using t = await startFront({
      handle: ({ reply }) =>
        new Promise((resolve) => {
          const stream = reply.stream(200, [], true)
          let sent = 0
          const more = (): void => {
            while (sent < total) {
              sent += 65_536
              if (!stream.write(Buffer.alloc(65_536))) {
                waits++
                stream.onDrain(more)
                return
              }
            }
            stream.end()
            resolve()
          }
          more()
        }),
    })
    const session = await open(t)
    const stream = session.request({ ':path': '/' })
    let received = 0
    for await (const chunk of stream) received += chunk.length
    expect(received).toBe(total)
    expect(waits).toBeGreaterThan(5)
    session.destroy()
  })

  it('answers before the whole body arrived, and the connection stays open', async () => {
    await using t = await startFront({ handle: async ({ reply }) => reply.send(403, [], 'no') })
    const session = await open(t)
    const upload = session.request({ ':method': 'POST', ':path': '/' })
    upload.on('error', () => {})
    upload.write(Buffer.alloc(2_000_000))
    const [headers] = await once(upload, 'response')
    expect(headers[':status']).toBe(403)
    upload.destroy()
    expect(await read(session.request({ ':path': '/next' }))).toMatchObject({ status: 403 })
    session.destroy()
  })

  it('sends 100 (Continue) only when the body is read', async () => {
    await using t = await startFront({
      handle: async ({ body, reply }) => reply.send(200, [], (await body.buffer(100)) ?? ''),
    })
    const session = await open(t)
    const stream = session.request({
      ':method': 'POST',
      ':path': '/',
      expect: '100-continue',
      'content-length': 5,
    })
    await once(stream, 'continue')
    stream.end('hello')
    expect(await read(stream)).toMatchObject({ body: 'hello' })
    session.destroy()
  })

  it.each([
    ['a header list over 16 KiB', { ':path': '/', 'x-long': 'a'.repeat(17_000) }, 431],
    ['a scheme that the connection does not have', { ':path': '/', ':scheme': 'http' }, 400],
    ['a header that shadows a framing header', { ':path': '/', transfer_encoding: 'chunked' }, 400],
  ])('refuses %s with one exchange', async (_what, headers, status) => {
    await using t = await startFront({ handle: ok })
    const session = await open(t)
    expect(await read(session.request(headers))).toMatchObject({ status })
    expect(t.exchanges).toHaveLength(1)
    expect(t.exchanges[0]?.malformed).toBeDefined()
    session.destroy()
  })

  it('refuses CONNECT on a stream with one exchange and a reason', async () => {
    await using t = await startFront({ handle: ok })
    const session = await open(t)
    const answer = await read(session.request({ ':method': 'CONNECT', ':authority': 'b.example:443' }))
    expect(answer.status).toBe(400)
    expect(answer.body).toContain('WebSocket over HTTP/2')
    session.destroy()
  })

  it('ends a session that opens and resets streams in a loop', async () => {
    await using t = await startFront({ handle: () => new Promise(() => {}) })
    const session = await open(t)
    let isClosed = false
    session.on('close', () => (isClosed = true))
    for (let round = 1; round < 50 && !isClosed; round++) {
      const streams = Array.from({ length: 20 }, () =>
        session.request({ ':path': '/' }).on('error', () => {}),
      )
      // Closed before it was sent, a request would never reach the other side.
      await until(
        () => isClosed || t.exchanges.length === round * 20,
        () => `round ${round}`,
      )
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
      await until(
        () => isClosed || t.exchanges.every((e) => e.abort.signal.aborted),
        () => 'the aborts',
      )
    }
    expect(isClosed).toBe(true)
    expect(t.exchanges.length).toBeLessThan(400)
  })

  it('finishes its streams when the front closes, and ends idle sessions', async () => {
    let release = (): void => {}
    const held = new Promise<void>((resolve) => (release = resolve))
    await using t = await startFront({
      handle: async ({ reply }) => {
        await held
        reply.send(200, [], 'done')
      },
    })
    const session = await open(t)
    const idle = await open(t)
    const answer = read(session.request({ ':path': '/' }))
    await until(
      () => t.exchanges.length === 1,
      () => 'the exchange',
    )
    const closed = t.front.close(5_000)
    await once(idle, 'close')
    release()
    expect(await answer).toMatchObject({ body: 'done' })
    await closed
  })
})

describe('fields that HTTP/2 forbids', () => {
  const GOOD = [
    [':method', 'GET'],
    [':path', '/'],
    [':scheme', 'https'],
    [':authority', 'a.example'],
  ] as const

  it('good requests of a client that compresses are served, whatever their fields', async () => {
    await using t = await startFront()
    const session = await open(t)
    for (let i = 0; i < 200; i++) {
      const fields: Record<string, string | string[]> = { ':path': `/${i}`, 'x-empty': '', 'x-same': 'same' }
      for (let n = 0; n < i % 23; n++) fields[`x-${n}`] = 'value '.repeat((i * n) % 40).trim()
      if (i % 3 === 0) fields.cookie = ['a=1', 'b=2']
      const stream = session.request(fields)
      expect((await read(stream)).status).toBe(200)
    }
    session.close()
  })

  it.each([
    ['CR in a value', 'x-a', 'b\rc'],
    ['LF in a value', 'x-a', 'b\nx-c: d'],
    ['NUL in a value', 'x-a', 'b\0'],
    ['a blank before a value', 'x-a', ' b'],
    ['a tab behind a value', 'x-a', 'b\t'],
    ['CR in a name', 'x-a\r', 'b'],
    ['LF in a name', 'x-a\nx-b', 'c'],
    ['NUL in a name', 'x-\0a', 'b'],
    ['a blank in a name', 'x a', 'b'],
    ['a name that is a blank', ' ', 'b'],
    ['a name that begins with a blank', ' x-a', 'b'],
    ['a name with a tab', 'x-a\t', 'b'],
    ['an empty name', '', 'b'],
    ['an empty name and value', '', ''],
    ['a colon in a name', 'x:a', 'b'],
    ['a name beyond ASCII', 'x-\xe9', 'b'],
    ['a second authorization with LF', 'authorization', 'Bearer a\nb'],
    ['a content-type with NUL', 'content-type', 'application/json\0'],
  ])('%s: the request is refused and no other field of it is used', async (_name, name, value) => {
    await using t = await startFront()
    const socket = await tlsTunnel(t.port, { ca: t.ca.caPem, host: 'a.example', alpn: ['h2'] })
    const frames = [headersFrame(1, [...GOOD, [name, value]]), headersFrame(3, [...GOOD, ['x-a', '']])]
    const session = await speakHttp2(socket, frames, ({ streams }) => streams.get(3)?.isEnded === true)
    socket.destroy()
    const { status, reset } = session.streams.get(1) ?? { status: null, reset: null }
    expect([400, null]).toContain(status)
    expect(status ?? reset).not.toBeNull()
    expect(session.streams.get(3)?.status).toBe(200)
    expect(t.exchanges[0]).toMatchObject({ malformed: { code: 'malformed_request' } })
    expect(t.exchanges.filter(({ malformed }) => malformed === undefined)).toHaveLength(1)
  })
})
