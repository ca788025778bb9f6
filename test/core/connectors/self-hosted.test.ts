import { describe, expect, test } from 'vitest'
import type { Action } from '../../../core/action/action.ts'
import { decidingKeys, nameSeen, needsBody } from '../../../core/connectors/classify.ts'
import { connectorOfType } from '../../../core/connectors/registry.ts'
import { checkUserRows } from '../../../core/connectors/rows/user-rows.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { boundOf, nameRequest } from './golden.ts'

type UserRow = ConnectorEntry['actions'][number]

function raw(method: string, host: string, target: string, headers: string[] = []) {
  return {
    method,
    target,
    rawHeaders: ['Host', host, ...headers],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  } as const
}

function typeOf(
  type: ConnectorEntry['type'],
  more: Partial<ConnectorEntry>,
  method: string,
  host: string,
  target: string,
): string {
  const named = nameRequest(boundOf(type, more), raw(method, host, target))
  if (named.kind === 'refusal') return named.code
  return (named.kind === 'actions' ? named.actions : named.candidates).map((action) => action.type).join('|')
}

describe('a self-hosted code host', () => {
  const more = { baseUrl: 'https://ghe.test/api/v3' }
  test.each([
    ['PUT', '/api/v3/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['POST', '/api/uploads/repos/o/r/releases/1/assets', 'codehost.release_asset.upload'],
    // Named by its body, which is not here.
    ['POST', '/api/graphql', 'malformed_request'],
    ['POST', '/graphql', 'malformed_request'],
    ['POST', '/o/r.git/git-receive-pack', 'codehost.git.push'],
    ['PUT', '/repos/o/r/pulls/1/merge', 'codehost.unmapped.put'],
    ['PUT', '/api/v4/repos/o/r/pulls/1/merge', 'codehost.unmapped.put'],
    ['PUT', '/api/v3/../v3/repos/o/r/pulls/1/merge', 'ambiguous_request'],
  ])('%s %s is %s', (method, target, type) => {
    expect(typeOf('codehost', more, method, 'ghe.test', target)).toBe(type)
  })

  test('without a prefix REST and git share the root', () => {
    const root = { domains: ['code.test'] }
    expect(typeOf('codehost', root, 'DELETE', 'code.test', '/repos/o/r')).toBe('codehost.repo.delete')
    expect(typeOf('codehost', root, 'POST', 'code.test', '/o/r/git-receive-pack')).toBe('codehost.git.push')
  })
})

test.each([
  [{}, 'github.com', 'api.github.com', '/repos/o/r'],
  [{ baseUrl: 'https://ghe.test/api/v3' }, 'ghe.test', 'ghe.test', '/api/v3/repos/o/r'],
  [{ domains: ['ghe.test'] }, 'ghe.test', 'ghe.test', '/api/v3/repos/o/r'],
  [{ baseUrl: 'https://api.git.test', domains: ['git.test'] }, 'git.test', 'api.git.test', '/repos/o/r'],
])('a look-up for a push goes to the REST API of the server: %o', (more, pushedTo, host, path) => {
  const { connector, config } = boundOf('codehost', more)
  const request = canonicalise(raw('POST', pushedTo, '/o/r.git/git-receive-pack'))
  if (isRefusal(request)) throw new Error(request.detail)
  const action: Action = {
    type: 'codehost.branch.create',
    connector: 'codehost',
    effect: 'write',
    risk: 'low',
    resource: { provider: 'codehost', target: 'o/r' },
    riskHints: {},
    parameters: { sha: 'a'.repeat(40) },
    possibleEffects: ['code_execution'],
  }
  const lookUps = connector.lookUps?.of(action, { request, config }) ?? []
  expect(lookUps.map((lookUp) => lookUp.host)).toEqual([host, host])
  expect(lookUps.map(({ target }) => target.startsWith(`${path}/com`))).toEqual([true, true])
})

test('a model provider below a path is the same provider, with the version or without', () => {
  for (const baseUrl of ['https://models.test/proxy', 'https://models.test/proxy/v1']) {
    expect(typeOf('llm_a', { baseUrl }, 'POST', 'models.test', '/proxy/v1/embeddings')).toBe(
      'llm_a.embedding.create',
    )
    expect(typeOf('llm_a', { baseUrl }, 'POST', 'models.test', '/v1/embeddings')).toBe('llm_a.unmapped.post')
  }
})

describe('other names of an instance below a path', () => {
  const more = {
    baseUrl: 'https://ghe.test/api/v3',
    domains: ['git.one.test', 'api.github.com', 'github.com'],
  }
  test.each([
    ['PUT', 'git.one.test', '/api/v3/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['PUT', 'git.one.test', '/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['DELETE', 'git.one.test', '/api/v3/repos/o/r', 'codehost.repo.delete'],
    ['POST', 'git.one.test', '/api/uploads/repos/o/r/releases/1/assets', 'codehost.release_asset.upload'],
    ['POST', 'git.one.test', '/o/r.git/git-receive-pack', 'codehost.git.push'],
    ['PUT', 'api.github.com', '/api/v3/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['PUT', 'api.github.com', '/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['PUT', 'github.com', '/api/v3/repos/o/r/pulls/1/merge', 'codehost.pr.merge'],
    ['POST', 'github.com', '/o/r.git/git-receive-pack', 'codehost.git.push'],
    // Named by its body, which is not here.
    ['POST', 'git.one.test', '/api/graphql', 'malformed_request'],
    ['POST', 'git.one.test', '/api/v3/graphql', 'malformed_request'],
    ['POST', 'api.github.com', '/api/graphql', 'malformed_request'],
    ['POST', 'api.github.com', '/api/v3/graphql', 'malformed_request'],
    ['POST', 'github.com', '/api/graphql', 'malformed_request'],
    ['POST', 'git.one.test', '/api/v3%2Fgraphql', 'malformed_request'],
  ])('%s %s%s is %s', (method, host, target, type) => {
    expect(typeOf('codehost', more, method, host, target)).toBe(type)
  })

  test.each([
    ['llm_a', '/proxy/v1/files/f1', 'llm_a.file.delete'],
    ['llm_a', '/v1/files/f1', 'llm_a.file.delete'],
    ['llm_b', '/proxy/v1/files/f1', 'llm_b.file.delete'],
    ['payments', '/proxy/v1/customers/c1', 'payments.customer.delete'],
  ] as const)('DELETE of %s at %s is %s', (type, target, action) => {
    for (const baseUrl of ['https://inner.test/proxy', 'https://inner.test/proxy/v1'])
      expect(typeOf(type, { baseUrl, domains: ['outer.test'] }, 'DELETE', 'outer.test', target)).toBe(action)
  })
})

describe('declared rows', () => {
  const pay: UserRow = {
    method: 'POST',
    path: '/invoices/{id}/pay',
    action: 'generic.invoice.pay',
    effect: 'write',
    risk: 'high',
  }
  const generic = { domains: ['erp.test'], actions: [pay] }

  test('name requests that a bare method does not describe', () => {
    expect(typeOf('generic', generic, 'POST', 'erp.test', '/invoices/7/pay')).toBe('generic.invoice.pay')
    expect(typeOf('generic', generic, 'POST', 'erp.test', '/invoices/7')).toBe('generic.post')
  })

  test.each(['/invoices/7/pay/', '/Invoices/7/PAY', '/invoices/7%2F8/pay', '/invoices/7;x/pay'])(
    'cannot be passed by under another spelling: %s',
    (target) => {
      expect(typeOf('generic', generic, 'POST', 'erp.test', target)).toBe('ambiguous_request')
    },
  )

  test.each(['generic', 'webhook'] as const)('of %s are what another method may do on their path', (type) => {
    const more = { domains: ['erp.test'], actions: [{ ...pay, action: `${type}.invoice.pay` }] }
    for (const method of ['PUT', 'PATCH', 'DELETE', 'PROPPATCH']) {
      const bare = method === 'PROPPATCH' ? `${type}.unmapped.proppatch` : `${type}.${method.toLowerCase()}`
      expect(typeOf(type, more, method, 'erp.test', '/invoices/7/pay')).toBe(`${bare}|${type}.invoice.pay`)
    }
    for (const method of ['GET', 'HEAD'])
      expect(typeOf(type, more, method, 'erp.test', '/invoices/7/pay')).toBe(`${type}.get`)
    expect(typeOf(type, more, 'PUT', 'erp.test', '/invoices/7')).toBe(`${type}.put`)
  })

  test('are the operations of a server that reads a literal of another row as a parameter', () => {
    const actions: UserRow[] = [
      { method: 'GET', path: '/users/me', action: 'generic.user.get_own', effect: 'read', risk: 'low' },
      { method: 'DELETE', path: '/users/{id}', action: 'generic.user.delete', effect: 'write', risk: 'high' },
    ]
    const typed = (method: string, target: string) =>
      typeOf('generic', { domains: ['erp.test'], actions }, method, 'erp.test', target)
    expect(typed('DELETE', '/users/me')).toBe('generic.delete|generic.user.delete')
    expect(typed('DELETE', '/users/7')).toBe('generic.user.delete')
    expect(typed('GET', '/users/me')).toBe('generic.user.get_own')
  })

  test('never override a built-in row, and apply to requests without one', () => {
    const actions: UserRow[] = [
      {
        method: 'DELETE',
        path: '/repos/{owner}/{repo}',
        action: 'codehost.repo.get',
        effect: 'read',
        risk: 'low',
      },
      {
        method: 'POST',
        path: '/repos/{owner}/{repo}/pages',
        action: 'codehost.pages.create',
        effect: 'write',
        risk: 'medium',
      },
    ]
    expect(typeOf('codehost', { actions }, 'DELETE', 'api.github.com', '/repos/o/r')).toBe(
      'codehost.repo.delete',
    )
    expect(typeOf('codehost', { actions }, 'POST', 'api.github.com', '/repos/o/r/pages')).toBe(
      'codehost.pages.create',
    )
  })

  test('of another connector type are ignored and reported', () => {
    const foreign = { ...pay, action: 'payments.charge.refund' }
    expect(checkUserRows('generic', [foreign])).toEqual([
      'action payments.charge.refund must begin with generic.',
    ])
    expect(
      typeOf('generic', { domains: ['erp.test'], actions: [foreign] }, 'POST', 'erp.test', '/invoices/7/pay'),
    ).toBe('generic.post')
    expect(checkUserRows('generic', [pay, { ...pay, path: '/invoices/{number}/pay' }])).toHaveLength(1)
    expect(checkUserRows('generic', [{ ...pay, path: '/a/{b+}/c' }])).toHaveLength(1)
    expect(checkUserRows('generic', [pay])).toEqual([])
  })
})

describe('questions before a body is read', () => {
  const request = (method: string, target: string, host: string) => {
    const canonical = canonicalise(raw(method, host, target))
    if (isRefusal(canonical)) throw new Error(canonical.detail)
    return canonical
  }

  test('only a class that depends on the body needs it', () => {
    const codehost = boundOf('codehost')
    const patch = request('PATCH', '/repos/o/r/pulls/1', 'api.github.com')
    expect([needsBody(codehost, patch), decidingKeys(codehost, patch)]).toEqual([true, ['state']])
    expect(needsBody(codehost, request('POST', '/repos/o/r/issues', 'api.github.com'))).toBe(false)
    const mcp = boundOf('mcp')
    expect(needsBody(mcp, request('POST', '/mcp', 'tools.mcp.test'))).toBe(true)
    expect(needsBody(mcp, request('GET', '/mcp', 'tools.mcp.test'))).toBe(false)
  })

  test('members found by a scan name the record', () => {
    const llm = boundOf('llm_a')
    const chat = request('POST', '/v1/chat/completions', 'api.openai.com')
    expect(nameSeen(llm, chat, new Map([['stream', true]]))?.type).toBe('llm_a.chat.create_stream')
    expect(nameSeen(llm, chat, new Map())?.type).toBe('llm_a.chat.create')
  })

  test('an MCP call is never named without its body', () => {
    expect(typeOf('mcp', {}, 'POST', 'tools.mcp.test', '/mcp')).toBe('malformed_request')
  })
})

describe('an action becomes a request again', () => {
  const config = { name: 'c', domains: [], actions: [] }
  const execute = (connector: string, type: string, parameters: Record<string, unknown>, target?: string) =>
    connectorOfType(connector).toRequest?.(
      { type, resource: { provider: connector, ...(target === undefined ? {} : { target }) }, parameters },
      config,
    )

  test.each<[string, string, Record<string, unknown>, string | undefined, object]>([
    [
      'codehost',
      'codehost.issue.create',
      { title: 't' },
      'o/r',
      { method: 'POST', host: 'api.github.com', target: '/repos/o/r/issues', body: '{"title":"t"}' },
    ],
    [
      'llm_b',
      'llm_b.model.list',
      {},
      undefined,
      {
        method: 'GET',
        host: 'api.anthropic.com',
        target: '/v1/models',
        headers: ['anthropic-version', '2023-06-01'],
      },
    ],
    [
      'codehost',
      'codehost.pr.merge',
      { pull_number: 7 },
      'o/r',
      { method: 'PUT', target: '/repos/o/r/pulls/7/merge' },
    ],
    [
      'codehost',
      'codehost.pr.close',
      { number: 7 },
      'o/r',
      { method: 'PATCH', target: '/repos/o/r/pulls/7', body: '{"state":"closed"}' },
    ],
    [
      'codehost',
      'codehost.branch.delete',
      { ref: 'heads/a b' },
      'o/r',
      { method: 'DELETE', target: '/repos/o/r/git/refs/heads/a%20b' },
    ],
    [
      'codehost',
      'codehost.issue.list',
      { state: 'open' },
      'o/r',
      { method: 'GET', target: '/repos/o/r/issues?state=open' },
    ],
    [
      'payments',
      'payments.charge.create',
      { amount: 5, metadata: { a: 'b c' } },
      undefined,
      { method: 'POST', target: '/v1/charges', body: 'amount=5&metadata%5Ba%5D=b%20c' },
    ],
    [
      'chat',
      'chat.message.post',
      { channel: 'C', text: 'x' },
      undefined,
      { method: 'POST', target: '/api/chat.postMessage', body: '{"channel":"C","text":"x"}' },
    ],
  ])('%s: %s', (connector, type, parameters, target, expected) => {
    expect(execute(connector, type, parameters, target)).toMatchObject(expected)
  })

  test.each<[string, Record<string, unknown>]>([
    ['codehost.pr.merge', {}],
    ['codehost.pr.merge', { number: { a: 1 } }],
    ['codehost.file.delete', { path: 'a/../b' }],
    ['codehost.no.such', {}],
  ])('%s with %j is refused before anything is sent', (type, parameters) => {
    expect(execute('codehost', type, parameters, 'o/r')).toMatchObject({
      kind: 'refusal',
      code: 'validation',
    })
  })

  test('a repository name cannot climb out of its place', () => {
    expect(execute('codehost', 'codehost.repo.delete', {}, 'o/..')).toMatchObject({ kind: 'refusal' })
    expect(execute('codehost', 'codehost.repo.delete', { owner: 'o', repo: 'r/../../x' })).toMatchObject({
      target: '/repos/o/r%2F..%2F..%2Fx',
    })
  })
})
