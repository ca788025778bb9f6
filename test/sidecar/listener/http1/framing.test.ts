import { once } from 'node:events'
import { createServer as createHttpServer, METHODS } from 'node:http'
import { type AddressInfo, connect, createServer, type Server } from 'node:net'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createConnectionDeadlines } from '../../../../sidecar/listener/connection-deadline.ts'
import { createQuotas } from '../../../../sidecar/listener/connection-quotas.ts'
import { Http1Connection } from '../../../../sidecar/listener/http1/connection.ts'
import { readHead } from '../../../../sidecar/listener/http1/head.ts'
import fc from '../../../support/fast-check.ts'

type Understood = { method: string; target: string; headers: string[]; body: string }

/** What a server makes of a connection's bytes: the requests it accepted, or that it refused something. */
type Reading = { readonly requests: Understood[]; readonly isRefused: boolean }

const LIMITS = {
  ...{ maxConnections: 10, maxConnectionsPerAgent: 10, maxTunnelsPerAgent: 10, maxUnauthenticated: 10_000 },
  unauthenticatedTimeoutMs: 60_000,
}
const deadlines = createConnectionDeadlines(
  1_000,
  createQuotas(LIMITS, () => undefined),
)
const ours: Understood[] = []
const theirs: Understood[] = []
let refusedByUs = false

const ourServer = createServer({ allowHalfOpen: true }, (socket) => {
  socket.on('error', () => {})
  const connection = new Http1Connection(socket, {
    deadline: deadlines.add(socket),
    idleTimeoutMs: 5_000,
    headTimeoutMs: 5_000,
    onFailure: () => (refusedByUs = true),
    async handler({ head, problem, body, reply }) {
      if (problem !== null) refusedByUs = true
      else {
        const bytes = await body.buffer(1_000_000)
        const { method, target, rawHeaders } = head
        ours.push({ method, target, headers: [...rawHeaders], body: bytes?.toString('latin1') ?? 'too long' })
      }
      reply.send(problem === null ? 200 : 400, [], '')
    },
  })
  connection.start(null)
})

const nodeServer = createHttpServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => {
    theirs.push({
      method: request.method ?? '',
      target: request.url ?? '',
      headers: request.rawHeaders,
      body: Buffer.concat(chunks).toString('latin1'),
    })
    response.end()
  })
})

beforeAll(async () => {
  for (const server of [ourServer, nodeServer]) await once(server.listen(0, '127.0.0.1'), 'listening')
})

afterAll(async () => {
  nodeServer.closeAllConnections()
  for (const server of [ourServer, nodeServer]) server.close()
  await deadlines.close(0)
})

/** Sends the bytes in the given pieces, then ends, and waits until the server has closed too. */
async function deliver(server: Server, pieces: readonly Buffer[]): Promise<string> {
  const socket = connect({ port: (server.address() as AddressInfo).port, host: '127.0.0.1', noDelay: true })
  let answer = ''
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString('latin1')))
  socket.on('error', () => {})
  await once(socket, 'connect')
  for (const piece of pieces) {
    if (socket.writable) await new Promise((resolve) => socket.write(piece, resolve))
    await new Promise(setImmediate)
  }
  // A FIN in the middle of a request would mean that the client left: wait for the answers to be out.
  socket.end()
  if (!socket.closed) await once(socket, 'close')
  return answer
}

async function readByUs(pieces: readonly Buffer[]): Promise<Reading> {
  ours.length = 0
  refusedByUs = false
  await deliver(ourServer, pieces)
  return { requests: [...ours], isRefused: refusedByUs }
}

async function readByNode(pieces: readonly Buffer[]): Promise<Reading> {
  theirs.length = 0
  const answer = await deliver(nodeServer, pieces)
  return { requests: [...theirs], isRefused: answer.includes('HTTP/1.1 400') }
}

const POST = 'POST /x HTTP/1.1\r\nHost: a\r\n'

/** Bytes that must be refused, with what is wrong with them. */
const REFUSED: ReadonlyArray<readonly [why: string, bytes: string]> = [
  ['bare LF after the request line', 'GET / HTTP/1.1\nHost: a\r\n\r\n'],
  ['bare LF everywhere', 'GET / HTTP/1.1\nHost: a\n\n'],
  ['bare LF after a header', 'GET / HTTP/1.1\r\nHost: a\nX: 1\r\n\r\n'],
  ['bare CR in a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\rY: 2\r\n\r\n'],
  ['NUL in a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\0\r\n\r\n'],
  ['DEL in a value', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\x7f\r\n\r\n'],
  ['folded header', 'GET / HTTP/1.1\r\nHost: a\r\nX: 1\r\n 2\r\n\r\n'],
  ['folded first header', 'GET / HTTP/1.1\r\n Host: a\r\n\r\n'],
  ['space before the colon', 'GET / HTTP/1.1\r\nHost: a\r\nX : 1\r\n\r\n'],
  ['tab before the colon', 'GET / HTTP/1.1\r\nHost: a\r\nContent-Length\t: 1\r\n\r\nx'],
  ['empty name', 'GET / HTTP/1.1\r\nHost: a\r\n: 1\r\n\r\n'],
  ['no colon', 'GET / HTTP/1.1\r\nHost: a\r\nnonsense\r\n\r\n'],
  ['character in a name', 'GET / HTTP/1.1\r\nHost: a\r\nX(1): 1\r\n\r\n'],
  ['byte over 0x7f in a name', 'GET / HTTP/1.1\r\nHost: a\r\nX\xe9: 1\r\n\r\n'],
  ['two spaces in the request line', 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['tab in the request line', 'GET\t/ HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['space in the target', 'GET /a b HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['byte over 0x7f in the target', 'GET /\xe9 HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['HTTP/0.9', 'GET /\r\n\r\n'],
  ['HTTP/1.2', 'GET / HTTP/1.2\r\nHost: a\r\n\r\n'],
  ['HTTP/2.0', 'GET / HTTP/2.0\r\nHost: a\r\n\r\n'],
  ['lower-case version', 'GET / http/1.1\r\nHost: a\r\n\r\n'],
  ['no Host', 'GET / HTTP/1.1\r\nX: 1\r\n\r\n'],
  ['two Hosts', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n'],
  [
    'two proxy credentials',
    'GET / HTTP/1.1\r\nHost: a\r\nProxy-Authorization: a\r\nproxy-authorization: b\r\n\r\n',
  ],
  ['two equal Content-Lengths', `${POST}Content-Length: 1\r\nContent-Length: 1\r\n\r\nx`],
  ['a list as Content-Length', `${POST}Content-Length: 1, 1\r\n\r\nx`],
  ['a sign in Content-Length', `${POST}Content-Length: +1\r\n\r\nx`],
  ['a negative Content-Length', `${POST}Content-Length: -1\r\n\r\nx`],
  ['a hexadecimal Content-Length', `${POST}Content-Length: 0x1\r\n\r\nx`],
  ['an empty Content-Length', `${POST}Content-Length: \r\n\r\nx`],
  ['a Content-Length beyond all numbers', `${POST}Content-Length: 99999999999999999999\r\n\r\nx`],
  ['both framings', `${POST}Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['gzip, chunked', `${POST}Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n`],
  ['chunked, identity', `${POST}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n`],
  ['identity', `${POST}Transfer-Encoding: identity\r\n\r\n`],
  ['chunked twice', `${POST}Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n`],
  ['vertical tab before chunked', `${POST}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`],
  ['chunked in HTTP/1.0', 'POST /x HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n'],
  ['Transfer_Encoding', `${POST}Transfer_Encoding: chunked\r\n\r\n`],
  ['Content_Length', `${POST}Content_Length: 3\r\n\r\n`],
  ['an unknown expectation', `${POST}Expect: miracles\r\n\r\n`],
  [
    'a body with an upgrade',
    `${POST}Connection: upgrade\r\nUpgrade: websocket\r\nContent-Length: 1\r\n\r\nx`,
  ],
  ['chunk size that is no number', `${POST}Transfer-Encoding: chunked\r\n\r\nxyz\r\n`],
  ['chunk size with a sign', `${POST}Transfer-Encoding: chunked\r\n\r\n+1\r\nx\r\n0\r\n\r\n`],
  ['chunk size with 0x', `${POST}Transfer-Encoding: chunked\r\n\r\n0x1\r\nx\r\n0\r\n\r\n`],
  ['empty chunk size', `${POST}Transfer-Encoding: chunked\r\n\r\n\r\nx\r\n0\r\n\r\n`],
  ['chunk size beyond all numbers', `${POST}Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\nx`],
  ['bare LF after a chunk size', `${POST}Transfer-Encoding: chunked\r\n\r\n1\nx\r\n0\r\n\r\n`],
  ['bare LF after chunk data', `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\nx\n0\r\n\r\n`],
  ['chunk longer than its size', `${POST}Transfer-Encoding: chunked\r\n\r\n1\r\nxy\r\n0\r\n\r\n`],
  ['space after a chunk size', `${POST}Transfer-Encoding: chunked\r\n\r\n1 \r\nx\r\n0\r\n\r\n`],
  ['bare LF in an extension', `${POST}Transfer-Encoding: chunked\r\n\r\n1;a\nb\r\nx\r\n0\r\n\r\n`],
  ['endless extension', `${POST}Transfer-Encoding: chunked\r\n\r\n1;${'a'.repeat(400)}\r\nx\r\n0\r\n\r\n`],
  ['trailer that is no header', `${POST}Transfer-Encoding: chunked\r\n\r\n0\r\nnonsense\r\n\r\n`],
]

describe('a request that two readers could read differently', () => {
  it.each(REFUSED)('is refused: %s', async (_why, bytes) => {
    const reading = await readByUs([Buffer.from(bytes, 'latin1')])
    expect(reading).toEqual({ requests: [], isRefused: true })
  })

  it.each(REFUSED)('is refused as well when every byte comes alone: %s', async (_why, bytes) => {
    const all = Buffer.from(bytes.slice(0, 200), 'latin1')
    const pieces =
      bytes.length > 200
        ? [all, Buffer.from(bytes.slice(200), 'latin1')]
        : [...all].map((b) => Buffer.from([b]))
    expect((await readByUs(pieces)).requests).toEqual([])
  })
})

describe('a head', () => {
  it('over 16 KiB is refused with 431, whether complete or not', () => {
    const filler = `X: ${'a'.repeat(17_000)}`
    for (const end of ['', '\r\n\r\n']) {
      const result = readHead(Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${filler}${end}`))
      expect(result).toMatchObject({
        kind: 'malformed',
        problem: { code: 'headers_too_large' },
        head: { method: 'GET', target: '/' },
      })
    }
  })

  it('just under 16 KiB is accepted', () => {
    const filler = `X: ${'a'.repeat(16_000)}`
    expect(readHead(Buffer.from(`GET / HTTP/1.1\r\nHost: a\r\n${filler}\r\n\r\n`)).kind).toBe('head')
  })

  it('that comes in single bytes is read as if it came whole, and no byte is searched for line ends twice', () => {
    const piece = fc.constantFrom(
      '\r',
      '\n',
      '\r\n',
      'GET / HTTP/1.1',
      'Host: a',
      ':',
      ' ',
      '\0',
      '\x7f',
      'X: é',
    )
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
        const all = Buffer.from(pieces.join(''), 'latin1')
        let whole = readHead(Buffer.alloc(0))
        let parts = whole
        for (let length = 1; length <= all.length && parts.kind === 'incomplete'; length++) {
          parts = readHead(all.subarray(0, length), length - 1)
          whole = readHead(all.subarray(0, length))
        }
        expect(parts).toEqual(whole)
      }),
      { numRuns: 2_000 },
    )
    const head = Buffer.from(`GET / HTTP/1.1\r\nX: ${'a'.repeat(16_000)}`)
    const decode = vi.spyOn(head, 'toString')
    expect(readHead(head, head.length - 1)).toEqual({ kind: 'incomplete' })
    expect(decode.mock.results.map(({ value }) => value.length)).toEqual([1])
  })

  it('keeps the order, case, duplicates and latin-1 bytes of headers and trims only around values', () => {
    const result = readHead(
      Buffer.from(
        'GET /a%2Fb?x=%20 HTTP/1.1\r\nHOST:a\r\nx-A: \t 1 2\t\r\nX-a:\r\nx-latin: \xe9\r\n\r\n',
        'latin1',
      ),
    )
    expect(result).toMatchObject({
      kind: 'head',
      head: { target: '/a%2Fb?x=%20', rawHeaders: ['HOST', 'a', 'x-A', '1 2', 'X-a', '', 'x-latin', '\xe9'] },
    })
  })

  it('may follow one empty line, as old clients send it after a POST, and not two', () => {
    expect(readHead(Buffer.from('\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n')).kind).toBe('head')
    expect(readHead(Buffer.from('\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n')).kind).toBe('malformed')
  })

  it.each([
    ['1.1', '', true],
    ['1.1', 'Connection: close\r\n', false],
    ['1.1', 'Connection: TE, Close\r\n', false],
    ['1.0', '', false],
    ['1.0', 'Connection: Keep-Alive\r\n', true],
  ])('of HTTP/%s with %j keeps the connection: %s', (version, header, keepAlive) => {
    const result = readHead(Buffer.from(`GET / HTTP/${version}\r\nHost: a\r\n${header}\r\n`))
    expect(result).toMatchObject({ head: { framing: { keepAlive } } })
  })

  it('with an h2c offer stays an ordinary request, with a websocket one does not', () => {
    const upgradeOf = (to: string): unknown =>
      readHead(
        Buffer.from(
          `GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: ${to}\r\n\r\n`,
        ),
      )
    expect(upgradeOf('h2c')).toMatchObject({ head: { framing: { upgrade: null } } })
    expect(upgradeOf('websocket')).toMatchObject({ head: { framing: { upgrade: 'websocket' } } })
  })
})

const token = fc.constantFrom('Accept', 'X-A', 'x-b', 'x_c', 'Via', "!#$%&'*+", 'Cookie', 'TE', 'Range')
const name = fc.oneof(
  { weight: 12, arbitrary: token },
  fc.constantFrom('X A', 'X\t', '', 'X:Y', 'X(', 'X\x00', ' X', 'X\xe9'),
)
const value = fc.oneof(
  {
    weight: 10,
    arbitrary: fc.constantFrom('', '1', 'a b', ' lead', 'trail \t', '"q"', 'a,b', '\xe9\xff', ':', 'a\tb'),
  },
  fc.constantFrom('\x00', 'a\rb', 'a\nb', 'a\r\n b', '\x0b', '\x7f', 'a\x01'),
)
const eol = fc.oneof(
  { weight: 40, arbitrary: fc.constant('\r\n') },
  fc.constantFrom('\n', '\r', '\r\r\n', '\n\r'),
)
const header = fc
  .tuple(name, fc.constantFrom(':', ': ', ':\t', ' :'), value, eol)
  .map((parts) => parts.join(''))
const chunk = fc
  .tuple(
    fc.string({ minLength: 1, maxLength: 20 }).map((s) => s.replace(/[^\x20-\x7e]/g, '.')),
    fc.oneof(
      { weight: 8, arbitrary: fc.constant('') },
      fc.constantFrom(';a', ';a=b', ';a="b c"', ' ', ';', ';a b', '\t;x', ';a='),
    ),
    fc.oneof({ weight: 10, arbitrary: fc.constant(0) }, fc.constantFrom(-1, 1)),
    eol,
    eol,
  )
  .map(([data, ext, off, e1, e2]) => `${Math.max(1, data.length + off).toString(16)}${ext}${e1}${data}${e2}`)
const lastChunk = fc.constantFrom(
  '0\r\n\r\n',
  '0\r\n\r\n',
  '00\r\n\r\n',
  '0\r\nT: 1\r\n\r\n',
  '0;x\r\n\r\n',
  '0\n\n',
  '0\r\nbad\r\n\r\n',
  '0\r\n',
)
const framed = fc.oneof(
  fc.constant(['', '']),
  fc
    .tuple(fc.constantFrom('abc', 'a', ''), fc.constantFrom(0, 0, 0, 1, -1))
    .map(([b, off]) => [`Content-Length: ${b.length + off}\r\n`, b]),
  fc
    .constantFrom('3, 3', '+3', '03', '3 ', '0x3', '3\r\nContent-Length: 3', '', '3a')
    .map((l) => [`Content-Length: ${l}\r\n`, 'abc']),
  fc
    .tuple(
      fc.constantFrom(
        'chunked',
        'chunked',
        'chunked',
        'Chunked',
        'gzip, chunked',
        'chunked, x',
        'xchunked',
        'chunked\r\nContent-Length: 3',
      ),
      fc.array(chunk, { maxLength: 3 }),
      lastChunk,
    )
    .map(([te, chunks, last]) => [`Transfer-Encoding: ${te}\r\n`, chunks.join('') + last]),
)
const request = fc
  .tuple(
    fc.oneof(
      { weight: 10, arbitrary: fc.constantFrom('GET', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS') },
      fc.constantFrom('G T', '', 'GE\x00T'),
    ),
    fc.constantFrom(
      '/',
      '/a/b?x=1',
      '/%2e%2e/',
      '//x/y',
      '/a;b',
      '*',
      'http://h/x',
      '/a b',
      '/\xe9',
      '/\x01',
      '/#f',
    ),
    fc.oneof(
      { weight: 10, arbitrary: fc.constant('HTTP/1.1') },
      fc.constantFrom('HTTP/1.0', 'HTTP/1.2', 'HTTP/1.1 ', 'HTP/1.1'),
    ),
    eol,
    fc.array(header, { maxLength: 4 }),
    framed,
  )
  .map(
    ([m, t, v, e, hs, [framing, body]]) => `${m} ${t} ${v}${e}Host: a\r\n${hs.join('')}${framing}\r\n${body}`,
  )

describe('the parser compared with the reference parser', () => {
  it('accepts nothing that Node refuses, and reads method, target, headers and body alike', {
    timeout: 120_000,
  }, async () => {
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(
        fc.array(request, { minLength: 1, maxLength: 2 }),
        fc.array(fc.nat({ max: 200 }), { maxLength: 2 }),
        async (requests, cuts) => {
          const bytes = Buffer.from(requests.join(''), 'latin1')
          const at = [0, ...cuts.filter((c) => c < bytes.length).sort((a, b) => a - b), bytes.length]
          const pieces = at.slice(1).map((end, i) => bytes.subarray(at[i], end))
          const mine = await readByUs(pieces.filter((piece) => piece.length > 0))
          accepted += mine.requests.length
          if (mine.requests.length === 0) return
          const node = await readByNode([bytes])
          // Node stops at a method it does not know; ours frames any token and lets the decision refuse it.
          const unknown = mine.requests.findIndex(({ method }) => !METHODS.includes(method))
          const comparable = unknown === -1 ? mine.requests : mine.requests.slice(0, unknown)
          expect(node.requests.slice(0, comparable.length)).toEqual(comparable)
        },
      ),
      { numRuns: Number(process.env['FUZZ_RUNS'] ?? 3_000) },
    )
    // A generator that only makes rubbish would prove nothing.
    expect(accepted).toBeGreaterThan(300)
  })
})
