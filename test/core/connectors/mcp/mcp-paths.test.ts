import { describe, expect, it } from 'vitest'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import { boundOf, nameRequest, rawOf, USUAL_HOST } from '../golden.ts'

type Headers = ReadonlyArray<readonly [string, string]>

const JSON_TYPE: Headers = [['Content-Type', 'application/json']]
const STREAM: Headers = [['Accept', 'text/event-stream']]
const SESSION: Headers = [['Mcp-Session-Id', 's']]
const PING = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
const DELETE_REPO =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_repo","arguments":{}}}'

type Sent = { method: string; target: string; headers?: Headers; body?: string }

function name(entry: Partial<ConnectorEntry>, { headers = [], ...sent }: Sent): readonly string[] | string {
  const bound = boundOf('mcp', entry)
  const named = nameRequest(bound, rawOf({ headers, ...sent }, USUAL_HOST.mcp), sent.body)
  if (named.kind === 'refusal') return named.code
  const actions = named.kind === 'actions' ? named.actions : named.candidates
  return actions.map(({ type }) => type)
}

describe('an MCP connector that names its endpoint', () => {
  const endpoint = { endpoint: ['/mcp', '/v2/tools'] }

  it.each([
    ['POST', '/mcp', JSON_TYPE, PING, 'mcp.rpc.ping'],
    ['POST', '/mcp/', JSON_TYPE, PING, 'mcp.rpc.ping'],
    ['POST', '/mcp?x=1', JSON_TYPE, PING, 'mcp.rpc.ping'],
    ['POST', '/v2/tools', JSON_TYPE, DELETE_REPO, 'mcp.tools.delete_repo'],
    ['GET', '/mcp', STREAM, undefined, 'mcp.rpc.stream_open'],
    ['GET', '/v2/tools', STREAM, undefined, 'mcp.rpc.stream_open'],
    ['DELETE', '/v2/tools', SESSION, undefined, 'mcp.rpc.session_end'],
  ] as const)('reads %s %s as MCP', (method, target, headers, body, wanted) => {
    expect(name(endpoint, { method, target, headers, ...(body && { body }) })).toEqual([wanted])
  })

  it.each([
    ['POST', '/api/users', JSON_TYPE, PING, 'mcp.unmapped.post'],
    ['POST', '/', JSON_TYPE, PING, 'mcp.unmapped.post'],
    ['POST', '/mcps', JSON_TYPE, PING, 'mcp.unmapped.post'],
    ['POST', '/x/mcp', JSON_TYPE, PING, 'mcp.unmapped.post'],
    ['POST', '/v2', JSON_TYPE, PING, 'mcp.unmapped.post'],
    ['DELETE', '/api/users/1', SESSION, undefined, 'mcp.unmapped.delete'],
    ['DELETE', '/mcp', [], undefined, 'mcp.unmapped.delete'],
    ['DELETE', '/mcp', [...SESSION, ...SESSION], undefined, 'mcp.unmapped.delete'],
    ['DELETE', '/mcp', [['Mcp-Session-Id', ' ']], undefined, 'mcp.unmapped.delete'],
    ['DELETE', '/', SESSION, undefined, 'mcp.unmapped.delete'],
    ['GET', '/api/users', STREAM, undefined, 'mcp.unmapped.get'],
    ['GET', '/mcp', [], undefined, 'mcp.unmapped.get'],
    ['GET', '/mcp', [['Accept', 'application/json']], undefined, 'mcp.unmapped.get'],
    ['GET', '/mcp', [['Accept', 'text/event-stream;q=0, */*']], undefined, 'mcp.unmapped.get'],
    ['GET', '/.well-known/oauth-protected-resource', STREAM, undefined, 'mcp.unmapped.get'],
  ] as const)('leaves %s %s unmapped', (method, target, headers, body, wanted) => {
    expect(name(endpoint, { method, target, headers, ...(body && { body }) })).toEqual([wanted])
  })

  it.each([
    ['POST', '/MCP'],
    ['POST', '/mcp/x'],
    ['POST', '/mcp;a=b'],
    ['POST', '/mcp;a=b/x'],
    ['POST', '/V2%2ftools'],
    ['POST', '/v2/tools%2Fx'],
    ['PUT', '/Mcp'],
    ['POST', '/mcp.json'],
    ['POST', '/mcp%20'],
    ['POST', '/mcp%2e'],
  ])(
    'decides the call in the body of %s %s as well: servers may take that path for the endpoint',
    (method, target) => {
      for (const type of ['application/json', 'text/plain']) {
        const headers: Headers = [['Content-Type', type]]
        expect(name(endpoint, { method, target, headers, body: DELETE_REPO })).toEqual([
          `mcp.unmapped.${method.toLowerCase()}`,
          'mcp.tools.delete_repo',
        ])
        expect(name(endpoint, { method, target, headers, body: 'hello' })).toEqual([
          `mcp.unmapped.${method.toLowerCase()}`,
        ])
      }
    },
  )

  it.each(['/api/users', '/mcps', '/x/mcp', '/v2'])('reads no body on %s', (target) => {
    const sent = { method: 'POST', target, headers: JSON_TYPE, body: DELETE_REPO }
    expect(name(endpoint, sent)).toEqual(['mcp.unmapped.post'])
  })

  it('needs no body to name another path', () => {
    expect(name(endpoint, { method: 'POST', target: '/api/users' })).toEqual(['mcp.unmapped.post'])
  })

  it('has an endpoint below a path of its base URL only if declared', () => {
    const entry = { ...endpoint, baseUrl: 'https://tools.mcp.test/base' }
    expect(name(entry, { method: 'GET', target: '/base', headers: STREAM })).toEqual(['mcp.unmapped.get'])
  })
})

describe('an MCP connector without an endpoint', () => {
  it('reads JSON by POST on every path', () => {
    for (const target of ['/', '/mcp', '/api/users', '/messages?sessionId=1'])
      expect(name({}, { method: 'POST', target, headers: JSON_TYPE, body: PING })).toEqual(['mcp.rpc.ping'])
  })

  it.each(['/', '/mcp', '/mcp/', '/sse', '/mcp/sse', '/v1/mcp', '/api/mcp', '/mcp?token=x'])(
    'opens and ends streams on the usual path %s',
    (target) => {
      expect(name({}, { method: 'GET', target, headers: STREAM })).toEqual(['mcp.rpc.stream_open'])
      expect(name({}, { method: 'DELETE', target, headers: SESSION })).toEqual(['mcp.rpc.session_end'])
    },
  )

  it('takes the path of its base URL for one', () => {
    const entry = { baseUrl: 'https://tools.mcp.test/team/tools' }
    expect(name(entry, { method: 'GET', target: '/team/tools', headers: STREAM })).toEqual([
      'mcp.rpc.stream_open',
    ])
  })

  it.each([
    '/api/users/1',
    '/api/users/mcp',
    '/users/sse',
    '/mcp/users/1',
    '/MCP',
    '/mcp;x',
    '/mcp%2Fsse',
    '/.well-known/x',
    '/team/tools',
  ])('leaves other methods on %s unmapped with any headers', (target) => {
    const headers = [...STREAM, ...SESSION]
    for (const method of ['GET', 'DELETE', 'PUT', 'PATCH'])
      expect(name({}, { method, target, headers })).toEqual([`mcp.unmapped.${method.toLowerCase()}`])
  })

  it.each([
    ['a form', [['Content-Type', 'application/x-www-form-urlencoded']], 'grant_type=x&a=b'],
    ['plain text', [['Content-Type', 'text/plain']], 'hello'],
    ['no type', [], 'hello'],
    ['another kind of JSON', [['Content-Type', 'application/merge-patch+json']], '{"a":1}'],
    ['a file', [['Content-Type', 'application/octet-stream']], 'x'.repeat(100_000)],
    ['nothing', [], ''],
  ] as const)('leaves a POST of %s away from the usual paths unmapped', (_what, headers, body) => {
    expect(name({}, { method: 'POST', target: '/token', headers, body })).toEqual(['mcp.unmapped.post'])
    expect(name({}, { method: 'POST', target: '/mcp', headers, body })).toEqual(['mcp.rpc.unknown'])
  })

  it.each([
    ['text/plain', DELETE_REPO],
    ['text/plain; charset=utf-8', `  ${DELETE_REPO}`],
    ['application/octet-stream', DELETE_REPO],
    ['application/vnd.api+json', DELETE_REPO],
    ['application/x-www-form-urlencoded', DELETE_REPO],
    ['multipart/form-data; boundary=x', DELETE_REPO],
    ['text/json', `[${DELETE_REPO}]`],
  ])('decides the call that a lenient server reads in %s as well', (type, body) => {
    const headers: Headers = [['Content-Type', type]]
    const away = name({}, { method: 'POST', target: '/rpc', headers, body })
    expect(away).toContain('mcp.tools.delete_repo')
    expect(away).toContain('mcp.unmapped.post')
    expect(name({}, { method: 'POST', target: '/mcp', headers, body })).toContain('mcp.tools.delete_repo')
  })

  it.each([
    ['PUT', '/mcp', JSON_TYPE, 'mcp.unmapped.put'],
    ['PATCH', '/mcp/', JSON_TYPE, 'mcp.unmapped.patch'],
    ['GET', '/mcp', STREAM, 'mcp.rpc.stream_open'],
    ['DELETE', '/mcp', SESSION, 'mcp.rpc.session_end'],
    ['DELETE', '/mcp', [['Content-Type', 'text/plain']], 'mcp.unmapped.delete'],
    ['PUT', '/rpc', JSON_TYPE, 'mcp.unmapped.put'],
    ['PUT', '/rpc', [['Content-Type', 'text/plain']], 'mcp.unmapped.put'],
    ['PATCH', '/rpc', [], 'mcp.unmapped.patch'],
    ['GET', '/api/mcp', STREAM, 'mcp.rpc.stream_open'],
  ] as const)(
    'decides the call in the body of %s %s beside its method: servers may ignore the method',
    (method, target, headers, wanted) => {
      expect(name({}, { method, target, headers, body: DELETE_REPO })).toEqual([
        wanted,
        'mcp.tools.delete_repo',
      ])
      expect(name({}, { method, target, headers, body: '' })).toEqual([wanted])
      expect(name({}, { method, target, headers, body: 'hello' })).not.toContain('mcp.tools.delete_repo')
      const loose = DELETE_REPO.replace('}}}', '},}}')
      expect(name({}, { method, target, headers, body: loose })).toBe('ambiguous_request')
    },
  )

  it('refuses text that only lenient parsers read as JSON, with any media type', () => {
    const body = DELETE_REPO.replace('}}}', '},}}')
    const headers: Headers = [['Content-Type', 'text/plain']]
    expect(name({}, { method: 'POST', target: '/rpc', headers, body })).toBe('ambiguous_request')
  })
})

describe('the method of a JSON-RPC message', () => {
  const post = (message: object) =>
    name({}, { method: 'POST', target: '/mcp', headers: JSON_TYPE, body: JSON.stringify(message) })
  const call = (method: string, params?: unknown) => post({ jsonrpc: '2.0', id: 1, method, params })

  it.each([
    'sampling/createMessage',
    'logging/setLevel',
    'notifications/roots/list_changed',
    'notifications/tools/list_changed',
    'tasks/cancel',
    'vendor/do-it',
    'vendor/do_it',
    'a',
    'x/y/z',
  ])('%s is one', (method) => {
    expect(call(method)).toEqual([`mcp.rpc.${method.replaceAll('/', '_')}`])
  })

  it.each([
    ...[
      'tools//call',
      'tools/call/',
      '/tools/call',
      'tools/call\u0000',
      '\u0000tools/call',
      'tools\u0000/call',
    ],
    ...['tools_call', 'tools.call', 'tools\\call', 'tools/./call', 'tools/../tools/call', 'tools:call'],
    ...['tools/call?', 'tools%2Fcall', 'toolscall', 'tools-call', 'TOOLS_CALL'],
  ])('%j is unknown, and the tool that it may call is decided as well', (method) => {
    const named = call(method, { name: 'delete_repo' })
    expect(named).toContain('mcp.rpc.unknown')
    const isReadable = !/%|\.\./.test(method)
    if (isReadable) expect(named).toContain('mcp.tools.delete_repo')
  })

  it.each([
    ...[
      '',
      '/',
      '//',
      'a//b',
      '/a',
      'a/',
      'a b',
      'a.b',
      '$/cancel',
      'a/b\n',
      'löschen',
      'a/*',
      '*',
      '~',
      'a~b',
    ],
    ...['unknown', 'response', 'stream_open', 'stream/open', 'session/end', 'session_end', 'tools/list/'],
    ...[
      'resources_read',
      'resources/templates_list',
      'notifications_initialized',
      'notifications/roots/list/changed',
    ],
    ...['Resources/Read', 'logging/setlevel', 'Ping', 'rpc.discover', '__proto__/', 'tools_list'],
  ])('%j is unknown', (method) => {
    expect(call(method)).toContain('mcp.rpc.unknown')
  })

  it('that is taken for a known one is decided as that one as well', () => {
    expect(call('resources_read')).toEqual(['mcp.rpc.unknown', 'mcp.rpc.resources_read'])
    expect(call('Resources//Read')).toEqual(['mcp.rpc.unknown', 'mcp.rpc.resources_read'])
    expect(call('tools_list')).toEqual(['mcp.rpc.unknown', 'mcp.tools.list'])
  })

  it.each([
    [['delete_repo', {}]],
    [[{ name: 'delete_repo' }]],
    ['delete_repo'],
    ['{"name":"delete_repo"}'],
    [JSON.stringify(['delete_repo'])],
  ])('tools/call with params %j is unknown beside the tool', (params) => {
    expect(call('tools/call', params)).toEqual(['mcp.rpc.unknown', 'mcp.tools.delete_repo'])
  })

  it.each([[7], [null], [true], [[]], ['']])('tools/call with params %j is unknown', (params) => {
    expect(call('tools/call', params)).toEqual(['mcp.rpc.unknown'])
  })

  it.each([
    [{ jsonrpc: '2.0', id: 1, result: {} }, ['mcp.rpc.response']],
    [{ jsonrpc: '2.0', id: 1, error: {} }, ['mcp.rpc.response']],
    [{ jsonrpc: '2.0', result: {} }, ['mcp.rpc.unknown']],
    [{ jsonrpc: '2.0', id: 1 }, ['mcp.rpc.unknown']],
    [{ jsonrpc: '1.0', id: 1, result: {} }, ['mcp.rpc.unknown']],
    [{ id: 1, result: {} }, ['mcp.rpc.unknown']],
    [{ jsonrpc: '2.0', id: 1, result: {}, method: null }, ['mcp.rpc.unknown']],
    [{ jsonrpc: '2.0', id: 1, result: {}, method: 7 }, ['mcp.rpc.unknown']],
    [{ jsonrpc: 2, id: 1, method: 'ping' }, ['mcp.rpc.unknown', 'mcp.rpc.ping']],
  ])('%j is named strictly', (message, wanted) => {
    expect(post(message)).toEqual(wanted)
  })

  it('of a response hides no call', () => {
    const named = post({
      jsonrpc: '2.0',
      id: 1,
      result: {},
      method: 'tools/call',
      params: { name: 'delete_repo' },
    })
    expect(named).toEqual(['mcp.tools.delete_repo'])
  })
})
