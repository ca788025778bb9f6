import { describe, expect, it } from 'vitest'
import { bodyOf, type Handle, rawClient, startFront, tunnel, until } from '../harness.ts'

const GET = 'GET http://a.example/ HTTP/1.1\r\nHost: a.example\r\n\r\n'

async function answerTo(request: string, handle: Handle): Promise<string> {
  await using t = await startFront({ handle })
  const client = await rawClient(t.port)
  client.send(request)
  return await client.all()
}

const close = (method: string, version = '1.1'): string =>
  `${method} http://a.example/ HTTP/${version}\r\nHost: a.example\r\nConnection: close\r\n\r\n`

const streamed =
  (status: number, headers: string[], chunks: string[], trailers?: string[]): Handle =>
  async ({ reply }) => {
    const stream = reply.stream(status, headers, chunks.length > 0)
    for (const chunk of chunks) stream.write(Buffer.from(chunk))
    stream.end(trailers)
  }

describe('a reply', () => {
  it('of unknown length is chunked, with trailers', async () => {
    const answer = await answerTo(
      close('GET'),
      streamed(200, ['X', '1', 'x', '2'], ['ab', '', 'cde'], ['T', 'v']),
    )
    expect(answer).toBe(
      'HTTP/1.1 200 OK\r\nX: 1\r\nx: 2\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n2\r\nab\r\n3\r\ncde\r\n0\r\nT: v\r\n\r\n',
    )
  })

  it('of known length keeps it', async () => {
    const answer = await answerTo(close('GET'), streamed(200, ['content-length', '5'], ['ab', 'cde']))
    expect(answer).toBe('HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: close\r\n\r\nabcde')
  })

  it('to HTTP/1.0 of unknown length ends with the connection', async () => {
    const answer = await answerTo(close('GET', '1.0'), streamed(200, [], ['ab', 'cde']))
    expect(answer).toBe('HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nabcde')
  })

  it('without a body says so', async () => {
    expect(await answerTo(close('GET'), streamed(200, [], []))).toMatch(
      /\r\nContent-Length: 0\r\n.*\r\n\r\n$/s,
    )
  })

  it.each([
    ['HEAD', 200, ['Content-Length', '5'], 'Content-Length: 5\r\n'],
    ['HEAD', 200, [], ''],
    ['GET', 304, ['Content-Length', '5'], 'Content-Length: 5\r\n'],
    ['GET', 204, [], ''],
  ])('to %s with %i has no body, and the headers %j', async (method, status, headers, length) => {
    const answer = await answerTo(close(method), streamed(status, headers, ['abcde']))
    expect(answer.split('\r\n').slice(1).join('\r\n')).toBe(`${length}Connection: close\r\n\r\n`)
  })

  it('that is sent whole to HEAD has its length and not its body', async () => {
    const answer = await answerTo(close('HEAD'), async ({ reply }) => reply.send(403, [], 'refused'))
    expect(answer).toBe('HTTP/1.1 403 Forbidden\r\nContent-Length: 7\r\nConnection: close\r\n\r\n')
  })

  it('that is cut off is not taken for complete, whatever its framing', async () => {
    for (const [version, headers] of [
      ['1.1', []],
      ['1.1', ['Content-Length', '10']],
      ['1.0', []],
    ] as const) {
      await using t = await startFront({
        handle: async ({ reply }) => {
          const stream = reply.stream(200, [...headers], true)
          stream.write(Buffer.from('abc'))
          await new Promise(setImmediate)
          stream.destroy()
        },
      })
      const client = await rawClient(t.port)
      client.send(close('GET', version))
      await client.until(({ isClosed }) => isClosed)
      const isReset = client.error !== null
      expect(isReset || version === '1.1').toBe(true)
      expect(client.received).not.toContain('0\r\n\r\n')
    }
  })

  it('with fewer bytes than announced is cut off, with more it is cut at once', async () => {
    for (const chunks of [['abc'], ['abc', 'defghijklmn']]) {
      await using t = await startFront({ handle: streamed(200, ['Content-Length', '10'], chunks) })
      const client = await rawClient(t.port)
      client.send(GET)
      await client.until(({ isClosed }) => isClosed)
      expect(bodyOf(client.received).length).toBeLessThan(10)
    }
  })

  it('can be preceded by interim answers', async () => {
    const answer = await answerTo(close('GET'), async ({ reply }) => {
      reply.interim(103, ['Link', '</a>'])
      reply.send(200, [], '')
    })
    expect(answer).toMatch(/^HTTP\/1\.1 103 Early Hints\r\nLink: <\/a>\r\n\r\nHTTP\/1\.1 200 OK\r\n/)
  })

  it('cannot be given header lines through a value', async () => {
    const answer = await answerTo(close('GET'), async ({ reply }) =>
      reply.send(200, ['X', 'a\r\nSet-Cookie: b', 'Y', 'grün…'], ''),
    )
    expect(answer).toContain('X: a??Set-Cookie: b\r\n')
    expect(answer).toContain('Y: gr\xfcn?\r\n')
  })

  it('never repeats the framing headers it was given', async () => {
    const headers = [
      'Connection',
      'x',
      'Keep-Alive',
      'y',
      'Transfer-Encoding',
      'gzip',
      'content-length',
      '99',
    ]
    const answer = await answerTo(close('GET'), async ({ reply }) => reply.send(200, headers, 'abc'))
    expect(answer).toBe('HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nabc')
  })

  it('makes the writer wait for a slow reader, and arrives whole', async () => {
    const total = 20 * 1024 * 1024
    let waits = 0
    let highest = 0
    await using t = await startFront({
      handle: ({ reply }) =>
        new Promise((resolve) => {
          const stream = reply.stream(200, [], true)
          const chunk = Buffer.alloc(65_536, 'x')
          let sent = 0
          const more = (): void => {
            while (sent < total) {
              sent += chunk.length
              if (!stream.write(chunk)) {
                waits++
                highest = Math.max(highest, process.memoryUsage().rss)
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
    const { socket } = await tunnel(t.port, 'a.example:80')
    socket.removeAllListeners('data')
    let received = 0
    socket.on('data', (chunk: Buffer) => {
      received += chunk.length
      socket.pause()
      setImmediate(() => socket.resume())
    })
    const before = process.memoryUsage().rss
    socket.write('GET / HTTP/1.1\r\nHost: a.example\r\n\r\n')
    await until(
      () => received > total,
      () => `${received} bytes`,
      20_000,
    )
    expect(waits).toBeGreaterThan(10)
    expect((highest - before) / 1024 / 1024).toBeLessThan(32)
  })
})
