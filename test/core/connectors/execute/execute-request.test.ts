import { describe, expect, test } from 'vitest'
import type { Action } from '../../../../core/action/action.ts'
import { isBeside } from '../../../../core/action/action.ts'
import type { ExecuteRequest, ExecuteSpec } from '../../../../core/connectors/connector.ts'
import { requestOfAction } from '../../../../core/connectors/execute/execute-request.ts'
import {
  type BoundConnector,
  connectorOfType,
  indexConnectors,
} from '../../../../core/connectors/registry.ts'
import { isRefusal } from '../../../../core/request/canonical.ts'
import type { ConnectorEntry } from '../../../../core/wire/gateway/sync.ts'
import { boundOf, nameRequest } from '../golden.ts'

type Type = ConnectorEntry['type']

function of(records: readonly BoundConnector[], spec: Partial<ExecuteSpec> & { type: string }) {
  const provider = spec.type.split('.')[0] ?? ''
  const whole = { parameters: {}, ...spec, resource: { provider, ...spec.resource } }
  return requestOfAction(records, whole, indexConnectors(records))
}

function request(
  type: Type,
  spec: Partial<ExecuteSpec> & { type: string },
  more: Partial<ConnectorEntry> = {},
) {
  const made = of([boundOf(type, more)], spec)
  if (isRefusal(made)) throw new Error(made.detail)
  return made.request
}

function refused(
  type: Type,
  spec: Partial<ExecuteSpec> & { type: string },
  more: Partial<ConnectorEntry> = {},
) {
  const made = of([boundOf(type, more)], spec)
  return isRefusal(made) ? `${made.code} ${made.detail}` : `not refused: ${JSON.stringify(made.request)}`
}

const NUMBER = /(^|_)number$/
const KNOWN: Record<string, unknown> = { archive_format: 'zip' }

/** A value for every parameter that the row's path, its fields and what tells it apart ask for. */
function parametersOf({ template, parameters = [], when }: Row): Record<string, unknown> {
  const names = [...template.matchAll(/\{([a-z][a-z0-9_]*)[+/]?\}/g)].map(([, name]) => name ?? '')
  const all = Object.fromEntries([...parameters, ...names].map((name) => [name, sampleOf(name)]))
  return when !== undefined && 'present' in when ? { ...all, [when.key]: 'text' } : all
}
const sampleOf = (name: string) => KNOWN[name] ?? (NUMBER.test(name) ? 7 : `a-${name}`)

type Row = {
  type: string
  effect: string
  method: string
  template: string
  parameters?: string[]
  when?: { key: string; present?: string }
}
const ROW_CONNECTORS = ['codehost', 'llm_a', 'llm_b', 'llm_c', 'payments', 'chat'] as const

describe.each(ROW_CONNECTORS)('every action of %s', (name) => {
  const rows = (connectorOfType(name).catalogue ?? []).filter((row) => 'template' in row) as unknown as Row[]
  const first = [...new Map(rows.toReversed().map((row) => [row.type, row])).values()]

  test('becomes a request that is classified as this action, or is refused before anything happens', () => {
    const other = first.flatMap((row) => {
      const made = of([boundOf(name)], { type: row.type, parameters: parametersOf(row) })
      return isRefusal(made) ? [`${row.type}: ${made.detail}`] : []
    })
    expect(other.filter((line) => !EXPECTED.some((known) => known.test(line)))).toEqual([])
  })

  test('that writes is sent as a request which, read anew from its bytes, is this action again, with the parameters that were given', () => {
    const writes = first.filter(({ effect }) => effect !== 'read')
    const seen = { made: 0 }
    for (const row of writes) {
      const parameters = parametersOf(row)
      const made = of([boundOf(name)], { type: row.type, parameters })
      if (isRefusal(made)) {
        expect(
          EXPECTED.some((known) => known.test(`${row.type}: ${made.detail}`)),
          row.type,
        ).toBe(true)
        continue
      }
      seen.made += 1
      const [action, ...others] = renamed(name, made.request)
      expect([action?.type, others.length], row.type).toEqual([row.type, 0])
      for (const one of Object.keys(action?.parameters ?? {})) {
        const given = parameters[one]
        // What tells it from its sisters it says itself.
        if (given === undefined || rows.some(({ type, when }) => type === row.type && when?.key === one))
          continue
        expect(String(action?.parameters[one]), `${row.type} ${one}`).toBe(String(given))
      }
    }
    // All but git and files: nothing is left out in silence.
    expect(seen.made).toBeGreaterThan(writes.length * 0.98)
  })

  test('without its parameters is refused with the name of each that its path needs', () => {
    for (const row of first) {
      const needed = [...row.template.matchAll(/\{([a-z][a-z0-9_]*)[+/]?\}/g)].map(([, one]) => one ?? '')
      const made = of([boundOf(name)], { type: row.type })
      if (needed.length === 0 || !isRefusal(made)) continue
      expect(made.code, row.type).toBe('validation')
      if (EXPECTED.some((known) => known.test(`${row.type}: ${made.detail}`))) continue
      // Another row of the name may need less.
      const least = rows.filter(({ type }) => type === row.type)
      if (least.length > 1) continue
      for (const one of needed) expect(made.detail).toContain(`action_spec.parameters.${one}: is required`)
    }
  })
})

/** The actions of a made request as a gateway reads them: from its line, its headers and the text of its body. */
function renamed(
  name: Type,
  { method, host, target, headers, body = '' }: ExecuteRequest,
): readonly Action[] {
  const length = body === '' ? [] : ['Content-Length', String(Buffer.byteLength(body))]
  const rawHeaders = ['Host', host, ...headers, ...length]
  const raw = { method, target, rawHeaders, httpVersion: '1.1', scheme: 'https', sources: {} } as const
  const named = nameRequest(boundOf(name), raw, body)
  if (isRefusal(named)) throw new Error(`${method} ${target}: ${named.detail}`)
  const actions = named.kind === 'actions' ? named.actions : named.candidates
  return actions.filter((action) => !isBeside(action))
}

/** Actions whose request is no JSON or form over REST. */
const EXPECTED = [/^codehost\.git\.(push|fetch): /, /: action_spec\.type: the body of this action is a file/]

describe('a row', () => {
  test('is chosen by the given parameters, and adds the values that distinguish it from its siblings', () => {
    const create = { type: 'codehost.repo.create', parameters: { name: 'site' } }
    expect(request('codehost', create).target).toBe('/user/repos')
    const ofOrg = { ...create, resource: { provider: 'codehost', target: 'acme' } }
    expect(request('codehost', ofOrg)).toMatchObject({ target: '/orgs/acme/repos', body: '{"name":"site"}' })
    const refund = { type: 'payments.charge.refund', parameters: { charge: 'ch_1', amount: 5 } }
    expect(request('payments', refund)).toMatchObject({ target: '/v1/refunds', body: 'charge=ch_1&amount=5' })
    const close = { type: 'codehost.pr.close', parameters: { number: 7 } }
    const target = { provider: 'codehost', target: 'acme/site' }
    expect(request('codehost', { ...close, resource: target })).toEqual({
      method: 'PATCH',
      host: 'api.github.com',
      target: '/repos/acme/site/pulls/7',
      headers: ['Content-Type', 'application/json'],
      body: '{"state":"closed"}',
    })
  })

  test('that would be another action with these parameters is refused with that name', () => {
    const target = { provider: 'codehost', target: 'acme/site' }
    const parameters = { path: 'a.md', content: 'eA==' }
    expect(refused('codehost', { type: 'codehost.file.update', resource: target, parameters })).toBe(
      'validation action_spec.parameters.sha: is required to execute the action',
    )
    const both = { ...parameters, sha: 'abc' }
    expect(refused('codehost', { type: 'codehost.file.create', resource: target, parameters: both })).toMatch(
      /describe the action codehost\.file\.update; submit the action under that name/,
    )
    const stream = { type: 'llm_a.chat.create', parameters: { model: 'm', stream: true } }
    expect(refused('llm_a', stream)).toMatch(/describe the action llm_a\.chat\.create_stream/)
  })

  test('never goes to another repository than the one that the resource names', () => {
    const spec = {
      type: 'codehost.issue.create',
      resource: { provider: 'codehost', target: 'acme/site' },
      parameters: { title: 'x' },
    }
    for (const said of [
      { owner: 'evil' },
      { repo: 'other' },
      { owner: 'acme', repo: 'site' },
      { org: 'evil' },
    ]) {
      const made = request('codehost', { ...spec, parameters: { title: 'x', ...said } })
      expect(made).toMatchObject({ target: '/repos/acme/site/issues', body: '{"title":"x"}' })
    }
  })

  test.each<readonly [Type, string, string, Record<string, unknown>]>([
    ['codehost', 'codehost.pr.merge', 'acme', { owner: 'evil', repo: 'prod', number: 7 }],
    ['codehost', 'codehost.pr.merge', 'acme/site/x', { number: 7 }],
    ['codehost', 'codehost.pr.merge', 'acme/site/', { number: 7 }],
    ['codehost', 'codehost.issue.create', 'acme', { owner: 'evil', repo: 'prod', title: 'x' }],
    ['chat', 'chat.message.post', 'C1', { channel: 'C2', text: 'x' }],
  ])(
    'of %s is refused where its target is not that of the request: %s %s',
    (type, name, target, parameters) => {
      const resource = { provider: type, target }
      expect(refused(type, { type: name, resource, parameters })).toMatch(
        /^validation action_spec\.resource\.target: differs from the target of the request/,
      )
    },
  )

  test('has the stated target in any spelling that the provider considers equal', () => {
    const resource = { provider: 'codehost', target: 'ACME/Site.git' }
    const merge = { type: 'codehost.pr.merge', resource, parameters: { number: 7 } }
    expect(request('codehost', merge).target).toBe('/repos/ACME/Site.git/pulls/7/merge')
    const post = { type: 'chat.message.post', parameters: { channel: 'C1', text: 'x' } }
    expect(request('chat', { ...post, resource: { provider: 'chat', target: 'C1' } }).method).toBe('POST')
  })

  test('names all missing parameters at once, and values that cannot be part of a path', () => {
    const spec = { type: 'codehost.pr.merge', parameters: { number: '1/../2' } }
    expect(refused('codehost', spec)).toBe(
      'validation action_spec.parameters.owner: is required to execute the action; action_spec.parameters.repo: is required to execute the action; action_spec.parameters.number: cannot be part of a path',
    )
  })

  test('that the connector record declares can be executed like a built-in one', () => {
    const actions = [
      {
        method: 'POST',
        path: '/v2/orders/{id}/ship',
        action: 'generic.order.ship',
        effect: 'write',
        risk: 'high',
      },
    ] as const
    const spec = { type: 'generic.order.ship', parameters: { id: 'o 1', express: true } }
    expect(request('generic', spec, { actions: [...actions] })).toEqual({
      method: 'POST',
      host: 'api.generic.test',
      target: '/v2/orders/o%201/ship',
      headers: ['Content-Type', 'application/json'],
      body: '{"express":true}',
    })
    expect(refused('generic', { type: 'generic.order.ship' }, { actions: [...actions] })).toBe(
      'validation action_spec.parameters.id: is required to execute the action',
    )
    // The bare method on the same path has the same effect, so a milder name is refused.
    const bare = { type: 'generic.post', parameters: { path: '/v2/orders/1/ship' } }
    expect(refused('generic', bare, { actions: [...actions] })).toMatch(
      /describe the action generic\.order\.ship/,
    )
    const onRows = { ...actions[0], action: 'codehost.site.ship', path: '/internal/ship' }
    expect(request('codehost', { type: 'codehost.site.ship' }, { actions: [onRows] }).target).toBe(
      '/internal/ship',
    )
  })
})

describe.each(['generic', 'webhook'] as const)('a bare method of %s', (type) => {
  const host = type === 'generic' ? 'api.generic.test' : 'hooks.webhook.test'
  const at = (target: string) => ({ provider: type, target })

  test.each(['get', 'post', 'put', 'patch', 'delete'])(
    '%s is sent to the address in the target',
    (method) => {
      const body = method === 'get' ? {} : { body: { a: 1 } }
      const made = request(type, { type: `${type}.${method}`, resource: at(`${host}/a/b`), parameters: body })
      expect(made).toMatchObject({ method: method.toUpperCase(), host, target: '/a/b' })
      expect(made.body).toBe(method === 'get' ? undefined : '{"a":1}')
    },
  )

  test('may be addressed by url, by target, or by path on its only host', () => {
    const spec = { type: `${type}.get` }
    const url = `https://${host}/a?x=1`
    expect(request(type, { ...spec, parameters: { url } })).toMatchObject({ host, target: '/a?x=1' })
    expect(request(type, { ...spec, parameters: { url: `https://${host}` } })).toMatchObject({ target: '/' })
    expect(request(type, { ...spec, parameters: { path: '/a', query: { 'b c': ['d'] } } }).target).toBe(
      '/a?b%20c%5B0%5D=d',
    )
    expect(request(type, { ...spec, resource: at(host), parameters: { path: '/z' } }).target).toBe('/z')
  })

  test.each([
    [{}, 'action_spec.parameters.path: is required to execute the action'],
    [{ parameters: { path: '/a?b=c' } }, 'action_spec.parameters.path: must begin with / and have no query'],
    [
      { resource: { provider: type, target: `${host}/a` }, parameters: { path: '/b' } },
      'action_spec.parameters.path: is /b',
    ],
    [
      { resource: { provider: type, target: `${host}/a` }, parameters: { url: `https://${host}/b` } },
      'action_spec.resource.target: differs from parameters.url',
    ],
    [{ parameters: { url: 'ftp://x/y' } }, 'action_spec.parameters.url: must be an http or https URL'],
    [{ parameters: { url: 'https://u:p@x/y' } }, 'action_spec.parameters.url: must be an http or https URL'],
    [
      { parameters: { url: 'https://elsewhere.test/y' } },
      `elsewhere.test is not a host of a ${type} Connector`,
    ],
    [
      { parameters: { path: '/a', data: 1 } },
      'action_spec.parameters.data: has no effect on this action; use url, path',
    ],
    [{ parameters: { path: '/a/../b' } }, 'action_spec.parameters: '],
    [{ parameters: { path: '/a//b' } }, 'action_spec.parameters: '],
    [
      { parameters: { path: '/a', headers: { Authorization: 'x' } } },
      'headers.Authorization: is not a header',
    ],
    [
      { parameters: { path: '/a', headers: { 'Transfer-Encoding': 'x' } } },
      'is not a header that an action can set',
    ],
    [
      { parameters: { path: '/a', headers: { 'X-HTTP-Method-Override': 'DELETE' } } },
      'would replace the method',
    ],
    [{ parameters: { path: '/a', headers: { 'X-A': 'b\r\nc: d' } } }, 'must be printable ASCII text'],
    [
      { parameters: { path: '/a', body: { a: 1 }, content_type: 'text/csv' } },
      'must be a string if content_type is text/csv',
    ],
    [
      { parameters: { path: '/a', body: 'x', content_type: 'text/csv\r\nx: y' } },
      'content_type: must be a media type',
    ],
  ])('is refused for %j', (spec, text) => {
    expect(refused(type, { type: `${type}.post`, ...spec })).toContain(`validation `)
    expect(refused(type, { type: `${type}.post`, ...spec })).toContain(text)
  })

  test('carries text, forms and its own headers', () => {
    const post = (parameters: object) =>
      request(type, { type: `${type}.post`, parameters: { path: '/a', ...parameters } })
    expect(post({ body: 'a,b', content_type: 'text/csv' })).toMatchObject({
      headers: ['Content-Type', 'text/csv'],
      body: 'a,b',
    })
    expect(post({ body: { a: [1, 'ü'] }, content_type: 'application/x-www-form-urlencoded' }).body).toBe(
      'a%5B0%5D=1&a%5B1%5D=%C3%BC',
    )
    expect(post({ headers: { 'X-Api-Version': '2' } })).toMatchObject({ headers: ['X-Api-Version', '2'] })
    expect(post({})).toEqual({ method: 'POST', host, target: '/a', headers: [] })
  })

  test('must name its host where the gateway has several', () => {
    const records = [boundOf(type), boundOf(type, { id: 'conn_2', domains: ['other.test'] })]
    const vague = of(records, { type: `${type}.get`, parameters: { path: '/a' } })
    expect(isRefusal(vague) && vague.detail).toBe(
      'action_spec.resource.target: is required to execute the action, as host/path',
    )
    const named = of(records, { type: `${type}.get`, resource: at('other.test/a') })
    expect(isRefusal(named) ? named.detail : named.request.host).toBe('other.test')
  })
})

describe('an MCP action', () => {
  const parameters = { path: '/mcp' }
  const sent = (spec: Partial<ExecuteSpec> & { type: string }, more: Partial<ConnectorEntry> = {}) => {
    const made = request('mcp', spec, more)
    return { ...made, body: made.body === undefined ? undefined : (JSON.parse(made.body) as unknown) }
  }

  test('becomes one JSON-RPC request with the headers that the transport demands', () => {
    const call = {
      ...parameters,
      arguments: { title: 'x' },
      session_id: 's-1',
      protocol_version: '2025-06-18',
    }
    expect(sent({ type: 'mcp.tools.create_issue', parameters: call })).toEqual({
      method: 'POST',
      host: 'tools.mcp.test',
      target: '/mcp',
      headers: [
        ...['Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream'],
        ...['Mcp-Session-Id', 's-1', 'MCP-Protocol-Version', '2025-06-18'],
      ],
      body: {
        jsonrpc: '2.0',
        id: 1,
        method: 'tools/call',
        params: { name: 'create_issue', arguments: { title: 'x' } },
      },
    })
  })

  test.each([
    ['mcp.tools.list', {}, { method: 'tools/list' }],
    ['mcp.tools.list', { cursor: 'c' }, { method: 'tools/list', params: { cursor: 'c' } }],
    ['mcp.tools.~list', {}, { method: 'tools/call', params: { name: 'list' } }],
    ['mcp.tools.a~2Fb~C3~BC', {}, { method: 'tools/call', params: { name: 'a/bü' } }],
    ['mcp.rpc.initialize', { params: { a: 1 } }, { method: 'initialize', params: { a: 1 } }],
    [
      'mcp.rpc.resources_read',
      { uri: 'file:///a' },
      { method: 'resources/read', params: { uri: 'file:///a' } },
    ],
    [
      'mcp.rpc.prompts_get',
      { name: 'p', arguments: { q: '1' } },
      { method: 'prompts/get', params: { name: 'p', arguments: { q: '1' } } },
    ],
    ['mcp.rpc.x_y', { method: 'x/y' }, { method: 'x/y' }],
    ['mcp.rpc.x_y', { method: 'x_y' }, { method: 'x_y' }],
  ])('%s with %j', (type, given, message) => {
    expect(sent({ type, parameters: { ...parameters, ...given } }).body).toEqual({
      jsonrpc: '2.0',
      id: 1,
      ...message,
    })
  })

  test('a notification has no id, and a session is ended by its id', () => {
    expect(sent({ type: 'mcp.rpc.notifications_initialized', parameters }).body).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/initialized',
    })
    const end = { type: 'mcp.rpc.session_end', parameters: { ...parameters, session_id: 's' } }
    expect(sent(end)).toMatchObject({ method: 'DELETE', headers: ['Mcp-Session-Id', 's'] })
  })

  test('goes to the endpoint in the url or in the base URL of its connector', () => {
    const url = { url: 'https://tools.mcp.test/deep/mcp?k=1' }
    expect(request('mcp', { type: 'mcp.tools.list', parameters: url }).target).toBe('/deep/mcp?k=1')
    const endpoint = { endpoint: ['/tools'] }
    expect(sent({ type: 'mcp.tools.list' }, endpoint)).toMatchObject({
      host: 'tools.mcp.test',
      target: '/tools',
    })
    const based = { domains: [], baseUrl: 'https://own.test/v1/mcp' }
    expect(sent({ type: 'mcp.tools.list' }, based)).toMatchObject({ host: 'own.test', target: '/v1/mcp' })
  })

  test.each([
    ['mcp.tools.x', {}, 'action_spec.parameters.path: is required to execute the action'],
    ['mcp.rpc.x_y', parameters, 'action_spec.parameters.method: is required to execute the action'],
    [
      'mcp.rpc.session_end',
      parameters,
      'action_spec.parameters.session_id: is required to execute the action',
    ],
    [
      'mcp.tools.x',
      { ...parameters, title: 'x' },
      'action_spec.parameters.title: has no effect on this action; use name, arguments',
    ],
    [
      'mcp.tools.x',
      { ...parameters, name: 'y' },
      'action_spec.parameters.name: must be the tool of the action mcp.tools.x',
    ],
    ['mcp.tools.x', { ...parameters, arguments: [] }, 'action_spec.parameters.arguments: is an object'],
    ['mcp.tools.~FF', parameters, 'action_spec.parameters.name: is required to execute the action'],
    [
      'mcp.rpc.resources_read',
      { ...parameters, method: 'resources/list' },
      'must be the method of the action mcp.rpc.resources_read',
    ],
    [
      'mcp.rpc.resources_read',
      { ...parameters, uri: 'a', params: { uri: 'b' } },
      'differs from parameters.params.uri',
    ],
    ['mcp.rpc.stream_open', parameters, 'does not name an MCP request'],
    ['mcp.rpc.unknown', parameters, 'does not name an MCP request'],
    ['mcp.unmapped.put', parameters, 'does not name an MCP request'],
    [
      'mcp.tools.x',
      { ...parameters, session_id: 'a\r\nb' },
      'action_spec.parameters.session_id: is not visible ASCII text',
    ],
  ])('%s with %j is refused', (type, given, text) => {
    expect(refused('mcp', { type, parameters: given })).toContain(text)
  })
})
