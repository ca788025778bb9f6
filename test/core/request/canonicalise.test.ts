import { describe, expect, test } from 'vitest'
import { type CanonicalRequest, isRefusal, type RawRequest } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'

const HOST = 'api.example.test'

function raw(more: Partial<RawRequest> = {}): RawRequest {
  return {
    method: 'GET',
    target: '/v1/things',
    rawHeaders: ['Host', HOST],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
    ...more,
  }
}

function read(more: Partial<RawRequest>): CanonicalRequest {
  const request = canonicalise(raw(more))
  if (isRefusal(request)) throw new Error(`refused: ${request.code} ${request.detail}`)
  return request
}

function codeOf(more: Partial<RawRequest>): string {
  const request = canonicalise(raw(more))
  return isRefusal(request) ? request.code : 'accepted'
}

const withHeaders = (...headers: string[]): Partial<RawRequest> => ({
  rawHeaders: ['Host', HOST, ...headers],
})

describe('the host', () => {
  test.each([
    ['API.Example.TEST', 'api.example.test', 443],
    ['api.example.test.', 'api.example.test', 443],
    ['api.example.test:8443', 'api.example.test', 8443],
    ['[2001:DB8::1]:8443', '2001:db8::1', 8443],
    ['[::1]', '::1', 443],
    ['10.0.0.1', '10.0.0.1', 443],
  ])('%s is read as %s', (host, name, port) => {
    expect(read({ rawHeaders: ['Host', host] })).toMatchObject({ host: name, port })
  })

  test.each([
    '',
    '.',
    'a..b',
    'a b',
    'a/b',
    'a%2eb',
    'a:0',
    'a:65536',
    'a:080',
    'a:',
    'a:1:2',
    '::1',
    '[::1',
    '[::1]x',
    'a,b',
    'a#b',
    'é.test',
  ])('"%s" is no host', (host) => {
    expect(codeOf({ rawHeaders: ['Host', host] })).toBe('malformed_request')
  })

  test('user information before the host is refused', () => {
    expect(codeOf({ rawHeaders: ['Host', `api@${HOST}`] })).toBe('ambiguous_request')
    expect(codeOf({ target: `https://user:secret@${HOST}/x` })).toBe('ambiguous_request')
  })

  test('two Host headers are refused even when they agree', () => {
    expect(codeOf({ rawHeaders: ['Host', HOST, 'host', HOST] })).toBe('ambiguous_request')
  })

  test('an HTTP/1.1 request without Host is refused, even if another part names the host', () => {
    expect(codeOf({ rawHeaders: [], sources: { connectAuthority: `${HOST}:443`, sni: HOST } })).toBe(
      'malformed_request',
    )
  })

  test('an HTTP/1.0 request may name its host by the CONNECT alone', () => {
    expect(
      read({ httpVersion: '1.0', rawHeaders: [], sources: { connectAuthority: `${HOST}:443` } }).host,
    ).toBe(HOST)
    expect(codeOf({ httpVersion: '1.0', rawHeaders: [] })).toBe('malformed_request')
  })

  test('every source of the host may be present when all agree', () => {
    const sources = {
      connectAuthority: 'API.example.test:443',
      sni: 'api.EXAMPLE.test',
      authority: `${HOST}:443`,
    }
    expect(read({ sources, httpVersion: '2' }).host).toBe(HOST)
  })

  test.each<[string, Partial<RawRequest>]>([
    ['CONNECT to another host', { sources: { connectAuthority: 'other.test:443' } }],
    ['CONNECT to another port', { sources: { connectAuthority: `${HOST}:8443` } }],
    ['SNI of another host', { sources: { sni: 'other.test' } }],
    ['authority of another host', { sources: { authority: 'other.test' }, httpVersion: '2' }],
    ['absolute target of another host', { target: 'https://other.test/v1/things' }],
    ['absolute target of another port', { target: `https://${HOST}:444/v1/things` }],
    ['plain http inside TLS', { target: `http://${HOST}:443/v1/things` }],
  ])('%s is misdirected', (_name, more) => {
    expect(codeOf(more)).toBe('misdirected')
  })

  test('an absolute-form target becomes the origin-form that goes upstream', () => {
    const request = read({ target: `http://${HOST}/a/%62?x=%79`, scheme: 'http' })
    expect(request).toMatchObject({
      rawTarget: '/a/%62?x=%79',
      rawPath: '/a/%62',
      rawQuery: 'x=%79',
      port: 80,
    })
    expect(read({ target: `HTTPS://${HOST}?q=1`, scheme: 'http' })).toMatchObject({
      rawTarget: '/?q=1',
      scheme: 'https',
    })
  })

  test('an HTTP/2 path is never absolute-form of another scheme', () => {
    expect(codeOf({ target: `http://${HOST}/`, httpVersion: '2' })).toBe('malformed_request')
  })

  test('a CONNECT has a host and no path', () => {
    const request = read({ method: 'CONNECT', target: `${HOST}:443`, rawHeaders: ['Host', `${HOST}:443`] })
    expect(request).toMatchObject({ method: 'CONNECT', host: HOST, port: 443, segments: [] })
    expect(codeOf({ method: 'CONNECT', target: 'other.test:443' })).toBe('misdirected')
    const plain = { method: 'CONNECT', target: `${HOST}:80` }
    expect(read({ ...plain, rawHeaders: ['Host', HOST] })).toMatchObject({ host: HOST, port: 80 })
    expect(codeOf({ ...plain, rawHeaders: ['Host', 'other.test'] })).toBe('misdirected')
    expect(codeOf({ ...plain, rawHeaders: ['Host', `${HOST}:443`] })).toBe('misdirected')
  })
})

describe('framing', () => {
  test.each<[string, string[]]>([
    ['length and chunked', ['Content-Length', '3', 'Transfer-Encoding', 'chunked']],
    ['two lengths', ['Content-Length', '3', 'Content-Length', '4']],
    ['two equal lengths', ['Content-Length', '3', 'Content-Length', '3']],
    ['a list of lengths', ['Content-Length', '3, 3']],
    ['a signed length', ['Content-Length', '+3']],
    ['a hexadecimal length', ['Content-Length', '0x3']],
    ['an empty length', ['Content-Length', '']],
    ['gzip before chunked', ['Transfer-Encoding', 'gzip, chunked']],
    ['chunked twice', ['Transfer-Encoding', 'chunked, chunked']],
    ['two encodings', ['Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked']],
    ['chunked in capitals', ['Transfer-Encoding', 'Chunked']],
    ['identity', ['Transfer-Encoding', 'identity']],
    ['a vertical tab before chunked', ['Transfer-Encoding', '\u000bchunked']],
    ['a no-break space before chunked', ['Transfer-Encoding', '\u00a0chunked']],
    ['a no-break space in the media type', ['Content-Type', 'application/json\u00a0']],
    ['a no-break space in Host', ['Host', `${HOST}\u00a0`]],
    ['two media types', ['Content-Type', 'application/json', 'Content-Type', 'text/plain']],
    ['a list of media types', ['Content-Type', 'application/json, text/plain']],
    ['two charsets', ['Content-Type', 'application/json; charset=utf-8; charset=utf-7']],
    ['Connection names Authorization', ['Connection', 'Authorization', 'Authorization', 'x']],
    ['Connection names Host', ['Connection', 'close, Host']],
    ['Connection names Content-Length', ['Connection', 'Content-Length']],
    ['Connection names a key header', ['Connection', 'keep-alive, x-api-key']],
    ['underscore length', ['Content_Length', '3']],
    ['underscore encoding', ['Transfer_Encoding', 'chunked']],
    ['underscore Connection', ['PROXY_CONNECTION', 'x']],
    ['underscore host', ['X_Forwarded_Host', 'x']],
    ...[
      ...['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override', 'X-HTTP-Verb', 'X-Method'],
      ...['X-Request-Method', 'X-Original-Method', 'X-Verb', 'HTTP-Method', 'Method-Override', '_method'],
      ...['X-HTTP-Verb-Override', 'X-HTTP-Request-Method', 'x_http_verb', 'X_Method', 'x-http_method'],
      ...['X_REQUEST_METHOD', 'x_method_override', 'HTTP_X_HTTP_METHOD_OVERRIDE', '_METHOD'],
    ].map((name): [string, string[]] => [`override ${name}`, [name, 'DELETE']]),
    ['a space in a header name', ['Content-Length ', '3']],
    ['a line feed in a value', ['X-A', 'a\nContent-Length: 3']],
    ['a NUL in a value', ['X-A', 'a\0b']],
    ['a pseudo-header', [':path', '/x']],
  ])('%s is refused with 400', (_name, headers) => {
    expect(['ambiguous_request', 'malformed_request']).toContain(codeOf(withHeaders(...headers)))
  })

  test.each(['connection', 'keep-alive', 'proxy-connection', 'transfer-encoding', 'upgrade'])(
    '%s has no place in HTTP/2',
    (name) => {
      expect(codeOf({ ...withHeaders(name, 'chunked'), httpVersion: '2' })).toBe('malformed_request')
    },
  )

  test.each(['Access-Control-Request-Method', 'X-Payment-Method', 'X-Methods', 'X-Method-Name', 'Allow'])(
    '%s overrides nothing',
    (name) => expect(codeOf(withHeaders(name, 'DELETE'))).toBe('accepted'),
  )

  test('te: trailers is allowed by HTTP/2', () => {
    expect(codeOf({ ...withHeaders('te', 'trailers'), httpVersion: '2' })).toBe('accepted')
    expect(codeOf({ ...withHeaders('te', 'gzip'), httpVersion: '2' })).toBe('malformed_request')
  })

  test('only the headers determine the kind of the body', () => {
    const json = ['Content-Type', 'Application/JSON; Charset="UTF-8"', 'Content-Length', '12']
    expect(read(withHeaders(...json)).body).toEqual({
      length: 12,
      isChunked: false,
      mediaType: 'application/json',
      charset: 'utf-8',
    })
    expect(read(withHeaders('Transfer-Encoding', 'chunked', 'Content-Encoding', 'GZIP')).body).toEqual({
      isChunked: true,
      encoding: 'gzip',
    })
    expect(read({}).body).toEqual({ isChunked: false })
  })

  test('header block and target together end at 16 KiB', () => {
    expect(codeOf(withHeaders('X-Fill', 'a'.repeat(16_000)))).toBe('accepted')
    expect(codeOf(withHeaders('X-Fill', 'a'.repeat(16_384)))).toBe('headers_too_large')
    expect(codeOf({ target: `/${'a'.repeat(16_384)}` })).toBe('headers_too_large')
    expect(
      codeOf(withHeaders(...Array.from({ length: 1_000 }, (_, i) => [`X-${i}`, 'abcdefghij']).flat())),
    ).toBe('headers_too_large')
  })

  test('ordinary client headers pass', () => {
    const headers = [
      'Connection',
      'keep-alive, Upgrade',
      'Expect',
      '100-continue',
      'X-A',
      'tab\there',
      'X-Latin',
      '\u00e9',
    ]
    expect(codeOf(withHeaders(...headers))).toBe('accepted')
  })

  test('an upgrade needs both fields; h2c is none', () => {
    expect(read(withHeaders('Connection', 'Upgrade', 'Upgrade', 'websocket')).isUpgrade).toBe(true)
    expect(read(withHeaders('Upgrade', 'websocket')).isUpgrade).toBe(false)
    expect(read(withHeaders('Connection', 'Upgrade, HTTP2-Settings', 'Upgrade', 'h2c')).isUpgrade).toBe(false)
  })
})

describe('the target', () => {
  test.each(['', '*', 'v1/things', 'ftp://api.example.test/', 'https:/x', 'javascript:x', '?x'])(
    '"%s" is no request target',
    (target) => {
      expect(codeOf({ target })).toBe('malformed_request')
    },
  )

  test('segments are decoded once and kept raw beside', () => {
    const request = read({ target: '/a%20b/c%2Fd/e' })
    expect(request.rawSegments).toEqual(['a%20b', 'c%2Fd', 'e'])
    expect(request.segments).toEqual(['a b', 'c/d', 'e'])
    expect(read({ target: '/' }).segments).toEqual([])
  })

  test('the query is read as forms are', () => {
    expect(read({ target: '/x?a=1&b=c+d%2B&&e&a=2=3' }).query).toEqual([
      ['a', '1'],
      ['b', 'c d+'],
      ['e', ''],
      ['a', '2=3'],
    ])
  })
})
