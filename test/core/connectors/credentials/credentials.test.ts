import { describe, expect, test } from 'vitest'
import type { AuthScheme, OutboundEdit } from '../../../../core/connectors/connector.ts'
import {
  injectAuth,
  stripBodyFields,
  stripCredentials,
} from '../../../../core/connectors/credentials/credentials.ts'
import { BUILT_IN, connectorOfType } from '../../../../core/connectors/registry.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import { canonicalise } from '../../../../core/request/canonicalise.ts'
import fc from '../../../support/fast-check.ts'

const CANARY = 'agents-own-canary'
const OURS = 'stored-credential'

const HEADER_CARRIERS = [
  'Authorization',
  'authorization',
  'AUTHORIZATION',
  'Proxy-Authorization',
  'Cookie',
  'x-api-key',
  'X-Api-Key',
  'api-key',
  'apikey',
  'private-token',
  'job-token',
  'x-goog-api-key',
  'x-amz-security-token',
  'x-auth-token',
  'x-access-token',
  'x-vault-token',
  'ocp-apim-subscription-key',
]
const QUERY_CARRIERS = [
  `access_token=${CANARY}`,
  `ACCESS_TOKEN=${CANARY}`,
  `access%5Ftoken=${CANARY}`,
  `%61ccess_token=${CANARY}`,
  `access_token[]=${CANARY}`,
  `api_key=${CANARY}`,
  `api-key=${CANARY}`,
  `oauth_token=${CANARY}`,
  `private_token=${CANARY}`,
  `client_secret=${CANARY}`,
  `a=1;access_token=${CANARY}`,
]

function edit(rawHeaders: string[], rawTarget = '/x'): OutboundEdit {
  return { rawHeaders, rawTarget }
}

describe.each(BUILT_IN.map((connector) => [connector.name, connector] as const))(
  "%s: the agent's own credential",
  (_name, connector) => {
    test.each(HEADER_CARRIERS)('in the header %s does not pass', (name) => {
      const outbound = edit(['Host', 'h', name, `Bearer ${CANARY}`, 'Accept', '*/*', name, CANARY])
      stripCredentials(outbound, connector)
      expect(outbound.rawHeaders).toEqual(['Host', 'h', 'Accept', '*/*'])
    })

    test.each(QUERY_CARRIERS)('in the query as %s does not pass, and the rest keeps its bytes', (pair) => {
      const outbound = edit([], `/a%2fb?x=%41+1&${pair}&y=%zz`)
      stripCredentials(outbound, connector)
      const rest = pair.startsWith('a=1;') ? 'a=1&' : ''
      expect(outbound.rawTarget).toBe(`/a%2fb?x=%41+1&${rest}y=%zz`)
    })

    test('in everything it names itself does not pass', () => {
      const { carriers } = connector
      const outbound = edit(
        carriers.headers.flatMap((name) => [name, CANARY]),
        `/x?${carriers.query.map((name) => `${name}=${CANARY}`).join('&')}`,
      )
      stripCredentials(outbound, connector)
      expect(JSON.stringify(outbound)).not.toContain(CANARY)
    })

    test('is no field that a row makes a parameter of its action', () => {
      const names = [...connector.carriers.query, ...connector.carriers.bodyFields]
      const declared = (connector.catalogue ?? []).flatMap(({ parameters = [] }) => parameters)
      expect(declared.filter((name) => names.includes(name.toLowerCase()))).toEqual([])
    })

    test('is replaced by exactly one of ours', () => {
      const outbound = edit([
        'Host',
        'h',
        'Authorization',
        CANARY,
        'x-api-key',
        CANARY,
        'authorization',
        CANARY,
      ])
      const request = canonicalise({
        method: 'GET',
        target: '/x',
        rawHeaders: ['Host', 'h.test'],
        httpVersion: '1.1',
        scheme: 'https',
        sources: {},
      })
      if (isRefusal(request)) throw new Error(request.detail)
      stripCredentials(outbound, connector)
      connector.injectCredentials(outbound, OURS, connector.defaultAuth, request)
      const text = JSON.stringify(outbound)
      expect(text).not.toContain(CANARY)
      expect(text.split(OURS)).toHaveLength(2)
    })
  },
)

describe('headers and parameters that are not credentials', () => {
  test('stays, byte for byte', () => {
    const target = '/x?page_token=2&key=k&keys=1&pageToken=3&next=%2F&&=&flag&token_type=x#'.slice(0, -1)
    const headers = [
      'X-Keyed',
      '1',
      'Idempotency-Key',
      'k',
      'OpenAI-Organization',
      'o',
      'Stripe-Account',
      'a',
      'X-A',
      '',
    ]
    const outbound = edit([...headers], target)
    stripCredentials(outbound, connectorOfType('codehost'))
    expect(outbound).toEqual({ rawHeaders: headers, rawTarget: target })
  })

  test('the question mark is removed with the last parameter', () => {
    const outbound = edit([], '/x?token=a&access_token=b')
    stripCredentials(outbound, connectorOfType('chat'))
    expect(outbound.rawTarget).toBe('/x')
  })

  test('a key among WebSocket subprotocols goes, the protocol stays', () => {
    const outbound = edit([
      'Sec-WebSocket-Protocol',
      `realtime, openai-insecure-api-key.${CANARY}, openai-beta.realtime-v1`,
    ])
    stripCredentials(outbound, connectorOfType('llm_a'))
    expect(outbound.rawHeaders).toEqual(['Sec-WebSocket-Protocol', 'realtime, openai-beta.realtime-v1'])
  })

  test('stripping never changes a query without carriers', () => {
    fc.assert(
      fc.property(fc.stringMatching(/^[a-j=&%0-9+;[\]]{0,40}$/), (query) => {
        const outbound = edit([], `/x?${query}`)
        stripCredentials(outbound, connectorOfType('chat'))
        expect(outbound.rawTarget).toBe(`/x?${query}`)
      }),
      { seed: 3, numRuns: 300 },
    )
  })
})

describe('credentials in bodies', () => {
  const strip = (text: string, mediaType: string, fields = ['token']) => {
    const stripped = stripBodyFields(new TextEncoder().encode(text), mediaType, fields)
    return isRefusal(stripped) ? stripped.code : [new TextDecoder().decode(stripped.bytes), stripped.removed]
  }

  test.each([
    ['token=x&a=%41+b', 'a=%41+b', true],
    ['a=1&token=x&b=2', 'a=1&b=2', true],
    ['a=1&%74oken=x', 'a=1', true],
    ['a=1&TOKEN=x', 'a=1', true],
    ['a=1&token[]=x', 'a=1', true],
    ['a=1&tokens=x', 'a=1&tokens=x', false],
  ])('form %s', (body, rest, removed) => {
    expect(strip(body, 'application/x-www-form-urlencoded')).toEqual([rest, removed])
  })

  test.each([
    ['{"token":"x","a":1.0}', '{"a":1.0}', true],
    ['{ "a" : [1, 2] , "token" : {"x":"}"} }', '{"a" : [1, 2] }', true],
    [
      '{"a":"\\"token\\":1","\\u0074oken":"x","b":{"token":"stays"}}',
      '{"a":"\\"token\\":1","b":{"token":"stays"}}',
      true,
    ],
    ['{"Token":"x"}', '{}', true],
    ['{"a":1e400, "b":"é"}', '{"a":1e400, "b":"é"}', false],
    ['[{"token":"x"}]', '[{"token":"x"}]', false],
  ])('JSON %s', (body, rest, removed) => {
    expect(strip(body, 'application/json')).toEqual([rest, removed])
  })

  test('JSON that two parsers read differently is refused', () => {
    expect(strip('{"token":"x","token":"y"}', 'application/json')).toBe('ambiguous_request')
  })

  test.each(['no json', '{"token":"x",}', "{'token':'x'}", '{"a":1}//'])(
    'text that a lenient parser may read as JSON is refused: %s',
    (text) => {
      expect(strip(text, 'application/json')).toMatch(/malformed_request|ambiguous_request/)
    },
  )

  const part = (disposition: string, value = 'x') => `--b\r\n${disposition}\r\n\r\n${value}\r\n`
  const named = (name: string) => part(`Content-Disposition: form-data; name="${name}"`)
  test.each([
    ['its plain name', named('token')],
    ['another case', named('ToKen')],
    ['brackets', named('token[]')],
    ['blanks', named(' token ')],
    ['no quotes', part('Content-Disposition: form-data; name=token')],
    ['an extended name', part("Content-Disposition: form-data; name*=UTF-8''token")],
    ['an escape', part('Content-Disposition: form-data; name="to\\ken"')],
    ['a percent escape', named('to%6ben')],
    ['a second name', part('Content-Disposition: form-data; name="a"; name="token"')],
    [
      'a second disposition',
      part('Content-Disposition: form-data; name="a"\r\nContent-Disposition: form-data; name="token"'),
    ],
    ['a folded line', part('Content-Disposition: form-data;\r\n name="token"')],
    ['lines that end with LF', named('token').replaceAll('\r\n', '\n')],
    ['a boundary behind LF', `${named('a').replace(/\r\n$/, '\n')}${named('token')}`],
    ['a preamble', `hello\r\n${named('token')}`],
    ['a file name', part('Content-Disposition: form-data; name="token"; filename="x"')],
  ])('a multipart form with a credential under %s is refused', (_how, parts) => {
    const text = `${named('channels')}${parts}--b--\r\n`
    expect(strip(text, 'multipart/form-data; boundary=b')).toBe('unsupported_body')
  })

  test.each([
    'multipart/form-data',
    'multipart/form-data; boundary=a; boundary=b',
    'multipart/mixed; boundary=b',
  ])('a multipart body as %s is refused', (type) => {
    expect(strip(`${named('a')}--b--`, type)).toBe('unsupported_body')
  })

  test('a multipart form without a credential passes as it is', () => {
    const file = part(
      'Content-Disposition: form-data; name="file"; filename="a.png"\r\nContent-Type: image/png',
      'token=\0',
    )
    const text = `${named('channels')}${file}--b--\r\n`
    expect(strip(text, 'multipart/form-data; boundary=b')).toEqual([text, false])
    expect(strip(text, 'multipart/form-data; boundary="b"')).toEqual([text, false])
  })

  test.each(['_method=DELETE', 'a=b&_method=PUT', '%5Fmethod=DELETE', '_METHOD=delete', '+_method=DELETE'])(
    'a form that would replace the method is refused: %s',
    (form) => {
      expect(strip(form, 'application/x-www-form-urlencoded')).toBe('ambiguous_request')
      expect(strip(`${named('_method')}--b--\r\n`, 'multipart/form-data; boundary=b')).toBe(
        'ambiguous_request',
      )
    },
  )

  test('other media types pass as they are', () => {
    expect(strip('token=x', 'text/plain')).toEqual(['token=x', false])
  })

  test('the remaining object equals the object without the field', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ maxLength: 6 }), fc.jsonValue({ maxDepth: 2 })), (members) => {
        const stripped = strip(JSON.stringify({ ...members, token: 'x' }), 'application/json')
        if (typeof stripped === 'string') return
        const { token: _token, ...rest } = JSON.parse(JSON.stringify({ ...members, token: 'x' }))
        for (const key of Object.keys(rest)) if (key.toLowerCase() === 'token') delete rest[key]
        expect(JSON.parse(String(stripped[0]))).toEqual(rest)
      }),
      { seed: 5, numRuns: 200 },
    )
  })
})

describe('injection', () => {
  test.each<[AuthScheme, string[]]>([
    [{ type: 'bearer' }, ['Authorization', `Bearer ${OURS}`]],
    [{ type: 'token' }, ['Authorization', `token ${OURS}`]],
    [{ type: 'basic', username: 'u' }, ['Authorization', `Basic ${btoa(`u:${OURS}`)}`]],
    [{ type: 'basic' }, ['Authorization', `Basic ${btoa(`${OURS}:`)}`]],
    [{ type: 'header', header: 'X-API-Key' }, ['X-API-Key', OURS]],
    [{ type: 'none' }, []],
  ])('%j', (scheme, headers) => {
    const outbound = edit([])
    injectAuth(outbound, `${OURS}\n`, scheme)
    expect(outbound.rawHeaders).toEqual(headers)
  })

  test('replaces a header of the same name', () => {
    const outbound = edit(['x-api-KEY', CANARY])
    injectAuth(outbound, OURS, { type: 'header', header: 'X-API-Key' })
    expect(outbound.rawHeaders).toEqual(['X-API-Key', OURS])
  })

  test.each(['', ' \n', 'a\r\nX-Evil: 1', 'schlüssel', 'a\0b'])(
    'the secret %j is never put on a wire',
    (secret) => {
      const outbound = edit([])
      expect(() => injectAuth(outbound, secret, { type: 'bearer' })).toThrow(/store a valid credential/)
      expect(outbound.rawHeaders).toEqual([])
    },
  )

  test('git over HTTP gets Basic, REST gets the token', () => {
    const codehost = connectorOfType('codehost')
    const inject = (method: string, target: string) => {
      const rawHeaders = ['Host', 'github.com']
      const request = canonicalise({
        method,
        target,
        rawHeaders,
        httpVersion: '1.1',
        scheme: 'https',
        sources: {},
      })
      if (isRefusal(request)) throw new Error(request.detail)
      const outbound = edit([])
      codehost.injectCredentials(outbound, 'pat', codehost.defaultAuth, request)
      return outbound.rawHeaders[1]
    }
    expect(inject('POST', '/o/r.git/git-receive-pack')).toBe(`Basic ${btoa('x-access-token:pat')}`)
    expect(inject('GET', '/o/r.git/info/refs?service=git-upload-pack')).toBe(
      `Basic ${btoa('x-access-token:pat')}`,
    )
    expect(inject('GET', '/repos/o/r')).toBe('token pat')
  })
})
