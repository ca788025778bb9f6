import type { Outgoing } from './response-reader.ts'

/** Generator of HTTP/1 messages for comparisons of codecs: valid messages, most of them with a mutation. */
export type Generator = {
  /** Bytes of a connection: one request, and often the same or another one behind it. */
  request(): string
  response(): string
  /** Returns the text as a whole, or in two or three pieces. */
  pieces(text: string): readonly string[]
  /** Returns a request to send. Some have a field that a head cannot carry. */
  outgoing(): Outgoing
}

const METHODS = ['GET', 'POST', 'PUT', 'HEAD', 'DELETE', 'OPTIONS', 'CONNECT', 'BREW', 'G T', '']
const TARGETS = ['/', '/a/b?x=1', '/%2e', '*', 'http://h/x', 'a.example:443', '/a b', '/\xe9', '/\x01']
const VERSIONS = [
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.1',
  'HTTP/1.0',
  'HTTP/1.2',
  'HTTP/2.0',
  'HTTP/1.1 ',
]
const STATUSES = ['200', '200', '200', '201', '204', '304', '404', '500', '101', '103', '99', '1000', '2x0']
const FIELDS = [
  ...['X-A: b', 'x_c:  spaced \t', 'Via:', 'Cookie: a=1; b="2"', 'X-L: \xe9\xff', 'X-A: one', 'X-T: a\tb'],
  ...['Connection: close', 'Connection: keep-alive', 'Connection: x, Close', 'Keep-Alive: timeout=1'],
  ...['Upgrade: websocket', 'Upgrade: h2c', 'Connection: Upgrade', 'Expect: 100-continue', 'Expect: x'],
  ...[
    'Host: b',
    'Host : b',
    'X A: 1',
    ' folded: 1',
    'nonsense',
    ': empty',
    'X-N: a\0b',
    'X-R: a\rb',
    'X-D: \x7f',
  ],
  ...['Content-Length: 0', 'Content_Length: 3', 'Transfer_Encoding: chunked', 'Proxy-Authorization: a'],
  ...[
    'Trailer: X-Sum',
    'TE: trailers',
    'Content-Length: 99999999999999999999',
    'Transfer-Encoding: identity',
  ],
]
const LENGTHS = [
  '3',
  '3',
  '3',
  '3',
  '0',
  '4',
  '2',
  '03',
  '+3',
  '0x3',
  '3, 3',
  '3 ',
  '',
  '3a',
  '-3',
  '9'.repeat(16),
]
const CODINGS = [
  'chunked',
  'chunked',
  'chunked',
  'chunked',
  'Chunked',
  'gzip, chunked',
  'chunked, x',
  ' chunked ',
]
const EXTENSIONS = [
  '',
  '',
  '',
  '',
  ';a',
  ';a=b',
  ';a="b c"',
  ' ',
  ';',
  ';a b',
  ';a=',
  ';a="',
  `;a=${'x'.repeat(300)}`,
]
const DATA = ['abc', 'a', '\r\n', '0\r\n\r\n', 'GET / HTTP/1.1\r\n\r\n']
/** Line ends behind the data of a chunk. */
const CHUNK_ENDS = ['\r\n', '\r\n', '\r\n', '\n', '\r', '\r\r\n', '\rx\r\n']
const SIZES = [0, 0, 0, 0, 0, 0, 1, -1]
const LAST = ['0', '0', '0', '00', '0;x', '0 ', '', '-0', '0x0']
const TRAILERS = [
  '',
  '',
  '',
  'X-Sum: 1\r\n',
  'Content-Length: 3\r\n',
  'bad\r\n',
  'X-S : 1\r\n',
  'X-N: \0\r\n',
]
/** Lengths of the body behind a repeated head, with that body. */
const REPEATED = [
  ['10', '0123456789'],
  ['1', 'a'],
  ['9', 'abc'],
  ['03', 'abc'],
  ['0', ''],
  ['', 'abc'],
  ['9999999999999999', ''],
] as const
const OUTGOING = [
  ['host', 'a'],
  ['X-A', 'one\ttwo \xe9'],
  ['content-length', '3'],
  ['Content-Length', '0'],
  ['X B', 'a'],
  ['X-N', 'a\r\nX-C: d'],
  ['X-U', '\u010a'],
]
const PIECES = [
  '\r',
  '\n',
  '\r\n',
  ' ',
  '\t',
  ':',
  '\0',
  '0',
  '\x80',
  ',',
  ';',
  'Content-Length: 1\r\n',
  '\r\n ',
]

export function createGenerator(random: () => number): Generator {
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
  /** Returns one of the usual values, which come first, and seldom any other. */
  const often = <T>(list: readonly T[], usual: number): T =>
    random() < 0.92 ? (list[Math.floor(random() * usual)] as T) : pick(list)
  const below = (limit: number): number => Math.floor(random() * limit)

  function chunk(): string {
    const data = pick(DATA)
    const size = Math.max(1, data.length + often(SIZES, 6)).toString(16)
    return `${size}${often(EXTENSIONS, 7)}\r\n${data}${often(CHUNK_ENDS, 1)}`
  }

  /** Returns the framing field and the body that belongs to it. */
  function framed(): readonly [field: string, body: string] {
    const kind = below(4)
    if (kind === 0) return ['', '']
    if (kind === 1) return ['', 'abc']
    if (kind === 2) return [`Content-Length: ${often(LENGTHS, 4)}\r\n`, 'abc']
    const chunks = Array.from({ length: below(3) }, chunk).join('')
    return [
      `Transfer-Encoding: ${often(CODINGS, 5)}\r\n`,
      `${chunks}${often(LAST, 4)}\r\n${often(TRAILERS, 4)}\r\n`,
    ]
  }

  function message(startLine: string, host: string): string {
    const fields = Array.from({ length: below(3) }, () => `${often(FIELDS, 13)}\r\n`).join('')
    const [framing, body] = framed()
    return `${startLine}\r\n${host}${fields}${framing}\r\n${body}`
  }

  function mutated(text: string): string {
    const kind = below(8)
    const at = below(text.length)
    const piece = pick(PIECES)
    if (kind === 0) return text.slice(0, at) + text.slice(at + 1)
    if (kind === 1) return text.slice(0, at) + piece + text.slice(at)
    if (kind === 2) return text.slice(0, at) + piece + text.slice(at + 1)
    if (kind === 3) return text.slice(0, at)
    if (kind === 4) return text.replace('\r\n', pick(['\n', '\r', '\r\r\n', '\r\n\r\n', '\r\n \r\n']))
    return text
  }

  /** Returns bytes behind a request: another one, or the same head with the same or another length. */
  function next(request: string): string {
    const kind = below(8)
    if (kind === 0) return 'GET /next HTTP/1.1\r\nHost: n\r\n\r\n'
    if (kind === 1) return request
    if (kind > 2) return ''
    const [digits, data] = pick(REPEATED)
    return `${request.slice(0, request.indexOf('\r\n\r\n') + 4).replace(/^(content-length: *)\d+/im, `$1${digits}`)}${data}`
  }

  return {
    request() {
      const line = `${often(METHODS, 6)} ${often(TARGETS, 5)} ${often(VERSIONS, 5)}`
      const request = message(line, below(16) === 0 ? '' : 'Host: a\r\n')
      return mutated(request) + next(request)
    },
    pieces(text) {
      if (below(2) === 0) return [text]
      const [a, b] = [below(text.length + 1), below(text.length + 1)]
      const cuts = [0, Math.min(a, b), Math.max(a, b), text.length]
      return cuts.slice(1).map((cut, at) => text.slice(cuts[at], cut))
    },
    outgoing() {
      const upgrade = below(32) === 0 ? 'websocket' : null
      const body = below(8) === 0 ? pick(DATA) : null
      const headers = below(4) === 0 ? Array.from({ length: below(3) }, () => pick(OUTGOING)).flat() : []
      const [method, path] = [pick(['GET', 'GET', 'HEAD', 'POST']), often(['/', '/a?b', '/a b'], 2)]
      return { method, path, headers, upgrade, body }
    },
    response() {
      const interim = below(6) === 0 ? 'HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n' : ''
      const line = `${often(VERSIONS, 5)} ${often(STATUSES, 8)}${pick([' OK', ' ', '', ' \xe9'])}`
      return mutated(interim + message(line, ''))
    },
  }
}
