import { describe, expect, test } from 'vitest'
import { classify, decidingKeys } from '../../../../core/connectors/classify.ts'
import { findConnector } from '../../../../core/connectors/registry.ts'
import { parseBody } from '../../../../core/request/body/body.ts'
import { type CanonicalRequest, isRefusal } from '../../../../core/request/canonical.ts'
import { canonicalise } from '../../../../core/request/canonicalise.ts'
import { MAX_JSON_DEPTH } from '../../../../core/request/json/json-bounds.ts'
import { snapshotOf } from '../../../sidecar/pipeline/test-world.ts'

/** Bodies that are no JSON to a strict reader, and a call of a tool to many servers: what the rules say of that tool counts. */
const { hosts } = snapshotOf({ connectors: [{ type: 'mcp', domains: ['tools.example.test'] }] }, 1, 1)
const bound = findConnector(hosts, 'tools.example.test', 443)

function requestFor(): CanonicalRequest {
  const request = canonicalise({
    method: 'POST',
    target: '/mcp',
    rawHeaders: ['Host', 'tools.example.test', 'Content-Type', 'application/json', 'Content-Length', '9'],
    httpVersion: '1.1',
    scheme: 'https',
    sources: {},
  })
  if (isRefusal(request)) throw new Error(request.detail)
  return request
}

/** The names of what happens, or the code of the refusal. */
function named(text: string): string {
  if (bound === null) throw new Error('no connector')
  const request = requestFor()
  const view = parseBody(new TextEncoder().encode(text), request.body, decidingKeys(bound, request))
  if (isRefusal(view)) return view.code
  const result = classify(bound, request, view)
  if (isRefusal(result)) return result.code
  return result.kind === 'actions' ? result.actions.map(({ type }) => type).join() : result.kind
}

const call = (args: string) =>
  `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"delete_repo","arguments":${args}}}`

test('the call by itself has its name', () => {
  expect(named(call('{}'))).toBe('mcp.tools.delete_repo')
})

describe('text that some servers still read is refused', () => {
  const deep = '['.repeat(MAX_JSON_DEPTH) + ']'.repeat(MAX_JSON_DEPTH)
  test.each([
    ['deeper than is read here', call(deep)],
    ['a hundred thousand levels deep', call('['.repeat(100_000) + ']'.repeat(100_000))],
    ['a broken one that nobody looks through', `[${'x'.repeat(100_000)}`],
    ['NaN', call('{"x":NaN}')],
    ['Infinity', call('[-Infinity]')],
    ['a trailing comma', call('{"x":1,}')],
    ['a line feed in a text', call('{"x":"a\nb"}')],
    ['a tab in a text', call('{"x":"a\tb"}')],
    ['a comment before', `/* x */${call('{}')}`],
    ['a comment of a line', `// x\n${call('{}')}`],
    ['a comment with a number sign', `# x\n${call('{}')}`],
    ['a comment inside', call('{/*}*/}')],
    ['single quotes', call("{'x':'y'}")],
    ['names without quotes', call('{x:1}')],
    ['a leading zero', call('[01]')],
    ['a plus sign', call('[+1]')],
    ['a point without a digit', call('[.5]')],
    ['a hexadecimal number', call('[0x1f]')],
    ['an escape that JSON has not', call('["\\x41"]')],
    ['words of another language', call('[True,None,undefined]')],
    ['a form feed before', `\f${call('{}')}`],
    ['a blank of another kind before', `\u00a0${call('{}')}`],
    ['a batch with a trailing comma', `[${call('{}')},]`],
  ])('%s', (_what, text) => {
    expect(named(text)).toBe('ambiguous_request')
  })
})

describe('a list in the place of a name, which many servers look up as its text, is decided as that text, too', () => {
  test.each([
    ['the tool', { method: 'tools/call', params: { name: ['delete_repo'] } }],
    ['the tool, twice', { method: 'tools/call', params: { name: [['delete_repo']] } }],
    ['the method', { method: ['tools/call'], params: { name: 'delete_repo' } }],
    ['both', { method: ['tools/call'], params: { name: ['delete_repo'] } }],
  ])('%s', (_what, message) => {
    const text = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
    expect(named(text)).toBe('mcp.rpc.unknown,mcp.tools.delete_repo')
  })
})

describe('text that no server can read is an unknown message', () => {
  test.each([
    'not json',
    'hello',
    '{not json}',
    '{broken',
    '{"jsonrpc":"2.0","method":',
    '{"jsonrpc":"2.0","method":}',
    `${call('{}').slice(0, -1)}`,
    '"a text',
    '/* never closed',
    "{'x",
    '{,}',
    '[1 2]',
    '{"a" "b"}',
  ])('%s', (text) => {
    expect(named(text)).toBe('mcp.rpc.unknown')
  })
})

test.each(['/*', "'", '"', '\\', '//', '#', '{"', ',', 'a:', '/* */'])(
  'a mebibyte of %s is judged in linear time',
  (unit) => {
    const text = `{${unit.repeat(Math.floor(2 ** 20 / unit.length))}`
    expect(['mcp.rpc.unknown', 'ambiguous_request', 'body_too_large']).toContain(named(text))
  },
)
