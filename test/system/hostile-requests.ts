export const HOST = 'api.github.com'

/** `{T}` stands for the form of the target, `{A}` for the proxy's key where the way needs one. */
export type Attack = {
  readonly name: string
  readonly bytes: string
  /** Answers to the agent in order. The connection is closed after the last one. */
  readonly says: readonly number[]
  /** Targets that the upstream sees. */
  readonly arrives?: readonly string[]
  readonly records?: number
  /** False where the framing is sound, so that nothing is at stake when the connection stays. */
  readonly mustClose?: boolean
  /** Ways on which it means something else. */
  readonly except?: RegExp
}

const GET = (headers: string, target = '/user') => `GET {T}${target} HTTP/1.1\r\n{A}${headers}\r\n`
const POST = (headers: string, body: string) =>
  `POST {T}/repos/o/r/issues HTTP/1.1\r\nHost: ${HOST}\r\n{A}${headers}\r\n${body}`
const CLOSE = 'Connection: close\r\n'
const H = `Host: ${HOST}\r\n`
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

export const FRAMING: readonly Attack[] = [
  { name: 'two Host headers', bytes: GET(`${H}Host: evil.example\r\n`), says: [400] },
  { name: 'two equal Host headers', bytes: GET(H + H), says: [400] },
  { name: 'no Host header', bytes: GET(''), says: [400] },
  { name: 'an empty Host header', bytes: GET('Host:\r\n'), says: [400], mustClose: false },
  { name: 'lines that end with LF', bytes: GET(H).replaceAll('\r\n', '\n'), says: [400] },
  { name: 'one line that ends with LF', bytes: GET(`${H}X: a\nY: b\r\n`), says: [400] },
  {
    name: 'a head that ends with LF LF',
    bytes: `GET {T}/user HTTP/1.1\r\n{A}${H}\n\nDELETE /repos/o/r HTTP/1.1\r\n${H}\r\n`,
    says: [400],
  },
  { name: 'CR inside a value', bytes: GET(`${H}X: a\rY: b\r\n`), says: [400] },
  { name: 'CR CR LF', bytes: GET(`${H}X: a\r\r\n`), says: [400] },
  { name: 'a folded line', bytes: GET(`${H}X: a\r\n b\r\n`), says: [400] },
  { name: 'a folded first line', bytes: GET(` X: a\r\n${H}`), says: [400] },
  {
    name: 'a folded framing header',
    bytes: POST(`Transfer-Encoding:\r\n chunked\r\n`, '0\r\n\r\n'),
    says: [400],
  },
  { name: 'a space before the colon', bytes: GET(`Host : ${HOST}\r\n`), says: [400] },
  { name: 'a tab before the colon', bytes: POST('Content-Length\t: 2\r\n', '{}'), says: [400] },
  { name: 'an empty header name', bytes: GET(`${H}: x\r\n`), says: [400] },
  { name: 'a line without a colon', bytes: GET(`${H}hello\r\n`), says: [400] },
  { name: 'a NUL in a value', bytes: GET(`${H}X: a\0b\r\n`), says: [400] },
  { name: 'a NUL in a name', bytes: GET(`${H}X\0: a\r\n`), says: [400] },
  {
    name: 'a vertical tab before chunked',
    bytes: POST('Transfer-Encoding: \x0bchunked\r\n', '0\r\n\r\n'),
    says: [400],
  },
  { name: 'gzip, chunked', bytes: POST('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n'), says: [400] },
  {
    name: 'chunked, identity',
    bytes: POST('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n'),
    says: [400],
  },
  {
    name: 'chunked, chunked',
    bytes: POST('Transfer-Encoding: chunked, chunked\r\n', '0\r\n\r\n'),
    says: [400],
  },
  { name: 'chunked twice', bytes: POST(CHUNKED + CHUNKED, '0\r\n\r\n'), says: [400] },
  { name: 'identity', bytes: POST('Transfer-Encoding: identity\r\n', ''), says: [400] },
  { name: 'an unknown coding', bytes: POST('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n'), says: [400] },
  { name: 'quoted chunked', bytes: POST('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n'), says: [400] },
  {
    name: 'Content-Length and Transfer-Encoding',
    bytes: POST(`Content-Length: 5\r\n${CHUNKED}`, '0\r\n\r\nDELETE /repos/o/r HTTP/1.1\r\n\r\n'),
    says: [400],
  },
  {
    name: 'Transfer-Encoding and Content-Length',
    bytes: POST(`${CHUNKED}Content-Length: 5\r\n`, '0\r\n\r\n'),
    says: [400],
  },
  {
    name: 'two lengths that differ',
    bytes: POST('Content-Length: 2\r\nContent-Length: 3\r\n', '{} '),
    says: [400],
  },
  { name: 'two equal lengths', bytes: POST('Content-Length: 2\r\nContent-Length: 2\r\n', '{}'), says: [400] },
  ...['2, 2', '+2', '-2', '0x2', '2 2', '2.0', '1e1', '', '\t', '99999999999999999999', '٢'].map((value) => ({
    name: `the length ${JSON.stringify(value)}`,
    bytes: POST(`Content-Length: ${Buffer.from(value).toString('latin1')}\r\n`, '{}'),
    says: [400],
  })),
  { name: 'a length with an underscore', bytes: POST('Content_Length: 2\r\n', '{}'), says: [400] },
  {
    name: 'an encoding with an underscore',
    bytes: POST('Transfer_Encoding: chunked\r\nContent-Length: 2\r\n', '{}'),
    says: [400],
  },
  {
    name: 'a Host with an underscore as separator',
    bytes: GET(`${H}Host_: evil.example\r\n${CLOSE}`),
    says: [200],
    arrives: ['/user'],
  },
  ...['0x2', '2 ', ' 2', '+2', '-2', '2\t', 'g', '', '1000000000000000000000', '2;', '2; a="', '2;a b'].map(
    (size) => ({
      name: `the chunk size ${JSON.stringify(size)}`,
      bytes: POST(CHUNKED, `${size}\r\n{}\r\n0\r\n\r\n`),
      says: [400],
    }),
  ),
  { name: 'a chunk size that ends with LF', bytes: POST(CHUNKED, '2\n{}\r\n0\r\n\r\n'), says: [400] },
  { name: 'a chunk that is longer than its size', bytes: POST(CHUNKED, '1\r\n{}\r\n0\r\n\r\n'), says: [400] },
  { name: 'a chunk that ends with LF', bytes: POST(CHUNKED, '2\r\n{}\n0\r\n\r\n'), says: [400] },
  {
    name: 'a chunk extension of 300 bytes',
    bytes: POST(CHUNKED, `2;${'x'.repeat(300)}\r\n{}\r\n0\r\n\r\n`),
    says: [400],
  },
  {
    name: 'a trailer that is no header',
    bytes: POST(CHUNKED, '2\r\n{}\r\n0\r\nDELETE /repos/o/r HTTP/1.1\r\n\r\n'),
    says: [400],
  },
  {
    name: 'a chunk extension',
    bytes: POST(CLOSE + CHUNKED, '2;a=b\r\n{}\r\n0\r\n\r\n'),
    says: [200],
    arrives: ['/repos/o/r/issues'],
  },
  {
    name: 'credentials as trailers',
    bytes: POST(CLOSE + CHUNKED, '2\r\n{}\r\n0\r\nAuthorization: own\r\n\r\n'),
    says: [200],
    arrives: ['/repos/o/r/issues'],
  },
  {
    name: 'a length in trailers',
    bytes: POST(CLOSE + CHUNKED, '2\r\n{}\r\n0\r\nContent-Length: 9\r\n\r\n'),
    says: [400],
  },
]

export const MEANING: readonly Attack[] = [
  ...['Authorization', 'Content-Length', 'Host', 'Cookie', 'X-Api-Key', 'close, authorization'].map(
    (value) => ({
      name: `Connection: ${value}`,
      bytes: GET(`${H}Connection: ${value}\r\nAuthorization: x\r\n`),
      says: [400],
    }),
  ),
  ...[
    'X-HTTP-Method-Override',
    'X-HTTP-Method',
    'X-Method-Override',
    'x_http_method_override',
    'X-Original-URL',
    'X-Rewrite-URL',
  ].map((name) => ({
    name,
    bytes: GET(`${H}${name}: DELETE\r\n`),
    says: [400],
  })),
  { name: 'another host in the Host header', bytes: GET(`Host: api.stripe.com\r\n${CLOSE}`), says: [421] },
  {
    name: 'another port in the Host header',
    bytes: GET(`Host: ${HOST}:8443\r\n${CLOSE}`),
    says: [421],
  },
  { name: 'user information in the Host header', bytes: GET(`Host: ${HOST}@evil.example\r\n`), says: [400] },
  { name: 'two hosts in one header', bytes: GET(`Host: ${HOST}, evil.example\r\n`), says: [400] },
  { name: 'an encoded host', bytes: GET(`Host: api%2egithub.com\r\n`), says: [400] },
  {
    name: 'another host in an absolute target',
    bytes: `GET https://api.stripe.com/v1/charges HTTP/1.1\r\n{A}${H}${CLOSE}\r\n`,
    says: [421],
  },
  {
    name: 'plain http in an absolute target',
    bytes: `GET http://${HOST}/user HTTP/1.1\r\n{A}${H}${CLOSE}\r\n`,
    says: [421],
    except: /absolute/,
  },
  {
    name: 'user information in an absolute target',
    bytes: `GET https://u:p@${HOST}/user HTTP/1.1\r\n{A}${H}\r\n`,
    says: [400],
  },
  {
    name: 'a backslash authority',
    bytes: `GET https://evil.example\\@${HOST}/user HTTP/1.1\r\n{A}${H}\r\n`,
    says: [400],
  },
  ...[
    '//evil.example/user',
    '/user#x',
    '/repos/../user',
    '/repos/%2e%2e/user',
    '/repos/.%2E/user',
    '/a/./b',
    '/a//b',
    '/a\\..\\b',
    '/a%5cb',
    '/a%00b',
    '/a%0d%0aX:y',
    '/a%252e%252e/b',
    '/a%',
    '/%zz',
    '/repos/o/r/',
    '/repos/o;x/r',
    '/repos/o/r%2Fissues',
  ].map((target) => ({
    name: `the target ${target}`,
    bytes: GET(H, target),
    says: [400],
  })),
  { name: 'a NUL in the target', bytes: GET(H, '/us\0er'), says: [400] },
  { name: 'a space in the target', bytes: GET(H, '/us er'), says: [400] },
  { name: 'a byte above ASCII in the target', bytes: GET(H, '/us\xe9r'), says: [400] },
  { name: 'a tab for the space', bytes: `GET\t{T}/user HTTP/1.1\r\n{A}${H}\r\n`, says: [400] },
  { name: 'no version', bytes: `GET {T}/user\r\n{A}${H}\r\n`, says: [400] },
  { name: 'HTTP/2.0 in words', bytes: `GET {T}/user HTTP/2.0\r\n{A}${H}\r\n`, says: [400] },
  { name: 'HTTP/1.2', bytes: `GET {T}/user HTTP/1.2\r\n{A}${H}\r\n`, says: [400] },
  { name: 'http/1.1 in lower case', bytes: `GET {T}/user http/1.1\r\n{A}${H}\r\n`, says: [400] },
  {
    name: 'CONNECT inside',
    bytes: `CONNECT evil.example:443 HTTP/1.1\r\n{A}Host: evil.example:443\r\n\r\n`,
    says: [400],
    except: /absolute/,
  },
  { name: 'GET of an authority', bytes: `GET evil.example:443 HTTP/1.1\r\n{A}${H}\r\n`, says: [400] },
  { name: 'a file URL', bytes: `GET file:///etc/passwd HTTP/1.1\r\n{A}${H}\r\n`, says: [400] },
  { name: 'TRACE', bytes: `TRACE {T}/user HTTP/1.1\r\n{A}${H}${CLOSE}\r\n`, says: [405] },
  { name: 'a lower-case method', bytes: `get {T}/user HTTP/1.1\r\n{A}${H}\r\n`, says: [400] },
  { name: 'a method with a colon', bytes: `GE:T {T}/user HTTP/1.1\r\n{A}${H}\r\n`, says: [400] },
  {
    name: 'HTTP/1.0 without a Host',
    bytes: `GET {T}/user HTTP/1.0\r\n{A}\r\n`,
    says: [200],
    arrives: ['/user'],
  },
  {
    name: 'HTTP/1.0 with chunks',
    bytes: `POST {T}/repos/o/r/issues HTTP/1.0\r\n{A}${H}${CHUNKED}\r\n0\r\n\r\n`,
    says: [400],
  },
  {
    name: 'an expectation that nobody knows',
    bytes: POST('Expect: 200-ok\r\nContent-Length: 2\r\n', '{}'),
    says: [400],
  },
  {
    name: 'two expectations',
    bytes: POST('Expect: 100-continue\r\nExpect: x\r\nContent-Length: 2\r\n', '{}'),
    says: [400],
  },
  {
    name: 'an upgrade with a body',
    bytes: POST('Connection: Upgrade\r\nUpgrade: websocket\r\nContent-Length: 2\r\n', '{}'),
    says: [400],
  },
  {
    name: 'a DELETE that offers a WebSocket',
    bytes: `DELETE {T}/repos/o/r HTTP/1.1\r\n{A}${H}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`,
    says: [400],
  },
  ...['h2c', 'HTTP/2.0', 'websocket, h2c', 'foo'].map((protocol) => ({
    name: `a DELETE that offers ${protocol}`,
    bytes: `DELETE {T}/repos/o/r HTTP/1.1\r\n{A}${H}Connection: Upgrade, close\r\nUpgrade: ${protocol}\r\n\r\n`,
    says: [403],
  })),
  {
    name: 'a denied upgrade',
    bytes: `${GET(`${H}Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n`)}DELETE /repos/o/r HTTP/1.1\r\n${H}${CLOSE}\r\n`,
    says: [403, 403],
    records: 2,
    except: /absolute/,
  },
  { name: 'headers of 17 KiB', bytes: GET(`${H}X: ${'x'.repeat(17 * 1024)}\r\n`), says: [431] },
  { name: 'a target of 17 KiB', bytes: GET(H, `/${'x'.repeat(17 * 1024)}`), says: [431] },
  { name: '9,000 tiny headers', bytes: GET(H + 'a:\r\n'.repeat(9_000)), says: [431] },
]

export const SECOND: readonly Attack[] = [
  {
    name: 'a second request behind a short body',
    bytes: POST('Content-Length: 2\r\n', `{}DELETE {T}/repos/o/r HTTP/1.1\r\n{A}${H}${CLOSE}\r\n`),
    says: [200, 403],
    arrives: ['/repos/o/r/issues'],
    records: 2,
  },
  {
    name: 'a second request behind the last chunk',
    bytes: POST(CHUNKED, `2\r\n{}\r\n0\r\n\r\nDELETE {T}/repos/o/r HTTP/1.1\r\n{A}${H}${CLOSE}\r\n`),
    says: [200, 403],
    arrives: ['/repos/o/r/issues'],
    records: 2,
  },
  {
    name: 'a second request behind a GET with a body',
    bytes: `GET {T}/user HTTP/1.1\r\n${H}{A}Content-Length: 5\r\n\r\nhelloDELETE {T}/repos/o/r HTTP/1.1\r\n{A}${H}${CLOSE}\r\n`,
    says: [200, 403],
    arrives: ['/user'],
    records: 2,
  },
  {
    name: 'a request inside a declared body stays a body',
    bytes: POST(`${CLOSE}Content-Length: 36\r\n`, 'DELETE /repos/o/r HTTP/1.1\r\nHost: x\r\n'),
    says: [200],
    arrives: ['/repos/o/r/issues'],
  },
  {
    name: 'bytes behind a closing request are nobody’s',
    bytes: `${GET(H + CLOSE)}DELETE {T}/repos/o/r HTTP/1.1\r\n{A}${H}\r\n`,
    says: [200],
    arrives: ['/user'],
  },
  {
    name: 'bytes behind a refused head are nobody’s',
    bytes: `${GET(H + H)}GET {T}/user HTTP/1.1\r\n{A}${H}\r\n`,
    says: [400],
  },
  {
    name: 'an h2c offer is answered in HTTP/1.1',
    bytes: GET(
      `${H}Connection: Upgrade, HTTP2-Settings, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA\r\n`,
    ),
    says: [200],
    arrives: ['/user'],
  },
]
