import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AgentRequest, type Headers, portAgent, type TestAgent } from '../support/agent.ts'
import { type AgentLine, connectLine } from '../support/agent-line.ts'
import { eventually } from '../support/eventually.ts'
import {
  allowAll,
  type Everything,
  type Rule,
  resource,
  startEverything,
} from '../support/every-connector.ts'
import { newestRecords } from '../support/gateway-records.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import type { Seen } from '../support/recorder.ts'

const RULES: readonly Rule[] = [
  ...allowAll(),
  ['codehost', 'codehost.pr.close', 'deny'],
  ['codehost', 'codehost.pr.merge', 'require_approval'],
  ['codehost', 'codehost.release.create', 'require_approval'],
  ['mcp', 'mcp.tools.delete_*', 'deny'],
  ['mcp', 'mcp.tools.list', 'deny'],
]

let everything: Everything
let laptop: Laptop
let agent: TestAgent
let line: AgentLine

beforeAll(async () => {
  const policy = resource(
    'Policy',
    'amounts',
    `  scope: { actions: ['payments.*'] }
  rules:
    - { name: too-much, conditions: ["'amount' in parameters && parameters.amount > 1000"], decision: deny }
`,
  )
  const titles = resource(
    'Policy',
    'titles',
    `  scope: { actions: ['codehost.issue.create'] }
  rules:
    - { name: no-evil, conditions: ["'title' in parameters && parameters.title == 'evil'"], decision: deny }
`,
  )
  everything = await startEverything({ rules: { '*': RULES }, extra: [policy, titles].join('\n---\n') })
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'everything.yaml': everything.manifests },
    env: { WHOLE_REFUSALS_PER_MINUTE: '100000' },
  })
  agent = await portAgent(laptop, 'attacker')
  line = connectLine(agent.target)
})
afterAll(async () => {
  line?.close()
  await laptop?.stop()
  await everything?.recorder.close()
})

async function sent(request: AgentRequest): Promise<{ status: number; text: string; seen: readonly Seen[] }> {
  const from = everything.recorder.seen.length
  const answer = await line.send(request)
  return { status: answer.status, text: answer.body.toString(), seen: everything.recorder.seen.slice(from) }
}

const JSON_TYPE = ['Content-Type', 'application/json'] as const
const FORM_TYPE = ['Content-Type', 'application/x-www-form-urlencoded'] as const

function patch(
  body: string | Buffer,
  headers: Headers = [JSON_TYPE],
  target = '/repos/o/r/pulls/1',
): AgentRequest {
  return { method: 'PATCH', host: 'api.github.com', target, headers, body }
}

describe('closing a pull request where only updating one is allowed', () => {
  test('the plain attempt is denied, the update passes', async () => {
    expect(await sent(patch('{"state":"closed"}'))).toMatchObject({ status: 403, seen: [] })
    const update = await sent(patch('{"title":"t","state":"open"}'))
    expect(update.status).toBe(200)
    expect(update.seen).toHaveLength(1)
  })

  test.each<[string, AgentRequest]>([
    ['two states', patch('{"state":"open","state":"closed"}')],
    ['two states in the other order', patch('{"state":"closed","state":"open"}')],
    ['an escaped key', patch('{"state":"open","\\u0073tate":"closed"}')],
    ['another case', patch('{"State":"closed"}')],
    ['full width', patch('{"ｓtate":"closed"}')],
    ['a byte order mark', patch('\ufeff{"state":"closed"}')],
    ['UTF-16', patch(Buffer.from('{"state":"closed"}', 'utf16le'))],
    [
      'UTF-16 that says so',
      patch(Buffer.from('\ufeff{"state":"closed"}', 'utf16le'), [
        ['Content-Type', 'application/json; charset=utf-16'],
      ]),
    ],
    ['UTF-7', patch('+AHs-"state":"closed"}', [['Content-Type', 'application/json; charset=utf-7']])],
    ['gzip', patch(gzipSync('{"state":"closed"}'), [JSON_TYPE, ['Content-Encoding', 'gzip']])],
    ['gzip that does not say so', patch(gzipSync('{"state":"closed"}'))],
    ['a form', patch('state=closed', [FORM_TYPE])],
    ['JSON called a form', patch('{"state":"closed"}', [FORM_TYPE])],
    ['JSON called text', patch('{"state":"closed"}', [['Content-Type', 'text/plain']])],
    ['JSON called nothing', patch('{"state":"closed"}', [])],
    [
      'JSON called multipart',
      patch('{"state":"closed"}', [['Content-Type', 'multipart/form-data; boundary=b']]),
    ],
    ['two types', patch('{"state":"closed"}', [['Content-Type', 'text/plain, application/json']])],
    ['two type headers', patch('{"state":"closed"}', [JSON_TYPE, ['Content-Type', 'text/plain']])],
    ['a trailing comma', patch('{"state":"closed",}')],
    ['a comment', patch('{/**/"state":"closed"}')],
    ['a second document', patch('{"state":"open"}\n{"state":"closed"}')],
    ['a document behind garbage', patch('x{"state":"closed"}')],
    ['a NUL behind', patch('{"state":"closed"}\0')],
    ['a NUL in the key', patch('{"state\\u0000":"closed"}')],
    ['an overlong escape', patch(Buffer.from('7b22c1b374617465223a22636c6f736564227d', 'hex'))],
    ['a lone surrogate', patch('{"\\ud800":1,"state":"closed"}')],
    ['the query', patch('{}', [JSON_TYPE], '/repos/o/r/pulls/1?state=closed')],
    ['depth', patch(`{"a":${'['.repeat(500)}${']'.repeat(500)},"state":"closed"}`)],
    ['more than a mebibyte', patch(`{"a":"${'x'.repeat(2 ** 20)}","state":"closed"}`)],
    [
      'a POST with an override',
      { ...patch('{"state":"closed"}', [JSON_TYPE, ['X-HTTP-Method-Override', 'PATCH']]), method: 'POST' },
    ],
    ['the issue of the same number', patch('{"state":"closed"}', [JSON_TYPE], '/repos/o/r/pulls/1/')],
  ])('%s does not do it', async (_how, request) => {
    const { status, seen } = await sent(request)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(seen).toEqual([])
  })
})

const pay = (body: string, headers: Headers = [FORM_TYPE], target = '/v1/refunds'): AgentRequest => ({
  method: 'POST',
  host: 'api.stripe.com',
  target,
  headers,
  body,
})

describe('a policy that looks at the body', () => {
  test('denies what it says and lets the rest pass', async () => {
    expect(await sent(pay('amount=5000&charge=ch_1'))).toMatchObject({ status: 403, seen: [] })
    expect((await sent(pay('amount=500&charge=ch_1'))).seen).toHaveLength(1)
  })

  test.each<[string, AgentRequest]>([
    ['a form called nothing', pay('amount=5000', [])],
    ['a form called text', pay('amount=5000', [['Content-Type', 'text/plain']])],
    ['a form called a stream of bytes', pay('amount=5000', [['Content-Type', 'application/octet-stream']])],
    [
      'multipart',
      pay('--b\r\nContent-Disposition: form-data; name="amount"\r\n\r\n5000\r\n--b--\r\n', [
        ['Content-Type', 'multipart/form-data; boundary=b'],
      ]),
    ],
    ['gzip', pay('amount=5000', [FORM_TYPE, ['Content-Encoding', 'gzip']])],
    ['a small one in the query', pay('amount=5000', [FORM_TYPE], '/v1/refunds?amount=1')],
    ['a large one in the query', pay('amount=1', [FORM_TYPE], '/v1/refunds?amount=5000')],
    ['two amounts', pay('amount=1&amount=5000')],
    ['an encoded name', pay('%61mount=5000')],
    ['JSON with a trailing comma', pay('{"amount":5000,}', [JSON_TYPE])],
    ['JSON in UTF-16', pay('{"amount":5000}', [['Content-Type', 'application/json; charset=utf-16']])],
    ['a number with a sign', pay('amount=%2B5000')],
    ['a number with zeros', pay('amount=005000')],
    ['a number in words of science', pay('amount=5e3')],
    ['a number as text in JSON', pay('{"amount":"5000"}', [JSON_TYPE])],
  ])('is not passed by %s', async (_how, request) => {
    const { status, seen } = await sent(request)
    expect(status).toBeGreaterThanOrEqual(400)
    expect(seen).toEqual([])
  })

  test.each<[string, Headers]>([
    ['a form', [FORM_TYPE]],
    ['text', [['Content-Type', 'text/plain']]],
    ['nothing', []],
    ['bytes', [['Content-Type', 'application/octet-stream']]],
  ])(
    'is not passed by JSON that is called %s, on an API that reads JSON whatever it is called',
    async (_how, headers) => {
      const request = {
        method: 'POST',
        host: 'api.github.com',
        target: '/repos/o/r/issues',
        headers,
        body: '{"title":"evil"}',
      }
      const { status, seen } = await sent(request)
      expect(status).toBe(415)
      expect(seen).toEqual([])
    },
  )
})

describe('MCP', () => {
  const call = (message: unknown, headers: Headers = [JSON_TYPE]): AgentRequest => ({
    method: 'POST',
    host: 'tools.mcp.test',
    target: '/mcp',
    headers,
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
  const tool = (name: unknown, id: unknown = 1) => ({
    jsonrpc: '2.0',
    id,
    method: 'tools/call',
    params: { name, arguments: {} },
  })

  test('a tool that no rule denies passes', async () => {
    expect((await sent(call(tool('read_repo')))).seen).toHaveLength(1)
  })

  test.each<[string, AgentRequest]>([
    ['the plain name', call(tool('delete_repo'))],
    ['another case', call(tool('Delete_Repo'))],
    ['a batch behind a harmless one', call([tool('read_repo', 1), tool('delete_repo', 2)])],
    ['a batch of one', call([tool('delete_repo')])],
    ['a batch in a batch', call([[tool('delete_repo')]])],
    ['no version', call({ ...tool('delete_repo'), jsonrpc: undefined })],
    ['another version', call({ ...tool('delete_repo'), jsonrpc: '1.0' })],
    ['a batch of 65', call(Array.from({ length: 65 }, (_, id) => tool('read_repo', id)))],
    [
      'two names',
      call(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_repo","name":"delete_repo"}}',
      ),
    ],
    [
      'two params',
      call(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_repo"},"params":{"name":"delete_repo"}}',
      ),
    ],
    [
      'two methods',
      call('{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"delete_repo"}}'),
    ],
    [
      'a folded key',
      call(
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_repo","Name":"delete_repo"}}',
      ),
    ],
    [
      'a folded method',
      call({ jsonrpc: '2.0', id: 1, method: 'Tools/Call', params: { name: 'delete_repo' } }),
    ],
    ['a header that names another tool', call(tool('read_repo'), [JSON_TYPE, ['Mcp-Name', 'delete_repo']])],
    [
      'a header that names another method',
      call(tool('read_repo'), [JSON_TYPE, ['Mcp-Method', 'tools/list']]),
    ],
    ['blanks around the name', call(tool(' delete_repo'))],
    ['a tab behind the name', call(tool('delete_repo\t'))],
    ['full width', call(tool('ｄelete_repo'))],
    ['a zero-width space', call(tool('delete\u200b_repo'))],
    ['a soft hyphen', call(tool('dele\u00adte_repo'))],
    ['a NUL', call(tool('delete_repo\0'))],
    ['a byte order mark', call(tool('\ufeffdelete_repo'))],
    [
      'a number that is none',
      call(JSON.stringify(tool('delete_repo')).replace('"arguments":{}', '"arguments":{"x":NaN}')),
    ],
    [
      'more levels than are read',
      call(JSON.stringify(tool('delete_repo')).replace('{}', `{"x":${'['.repeat(80)}${']'.repeat(80)}}`)),
    ],
    ['a comment', call(`/* */${JSON.stringify(tool('delete_repo'))}`)],
    ['a text type', call(tool('delete_repo'), [['Content-Type', 'text/plain']])],
    ['no type', call(tool('delete_repo'), [])],
  ])('a denied tool does not pass by %s', async (_how, request) => {
    const { text, status, seen } = await sent(request)
    expect(status >= 400 || text.includes('"error"')).toBe(true)
    expect(seen).toEqual([])
  })

  test('a tool whose name spells the method is a tool of its own', async () => {
    expect((await sent(call(tool('list')))).seen).toHaveLength(1)
    const listed = await sent(call({ jsonrpc: '2.0', id: 1, method: 'tools/list' }))
    expect(listed.text).toContain('"error"')
    expect(listed.seen).toEqual([])
  })
})

describe('a held request', () => {
  const merge = (n: number, more: Partial<AgentRequest> = {}): AgentRequest => ({
    method: 'PUT',
    host: 'api.github.com',
    target: `/repos/o/r/pulls/${n}/merge`,
    headers: [JSON_TYPE],
    body: '{"merge_method":"squash"}',
    ...more,
  })

  async function pending(path: string): Promise<readonly Record<string, unknown>[]> {
    const { body } = await laptop.api('GET', '/api/dashboard/proxy-approvals?status=pending')
    return (body['approvals'] as Record<string, unknown>[]).filter((card) => card['path'] === path)
  }

  async function card(path: string): Promise<Record<string, unknown>> {
    return eventually(`a card for ${path}`, async () => (await pending(path))[0] ?? null)
  }

  const respond = async (id: unknown, approved = true) => {
    const { status } = await laptop.api('POST', '/api/dashboard/proxy-approvals', { id, approved })
    expect(status).toBe(200)
  }

  /** Sends without waiting for the answer; the connection ends when the gateway has the card. */
  async function leaveHold(request: AgentRequest): Promise<Record<string, unknown>> {
    const other = connectLine(agent.target)
    const left = other.send(request).catch(() => null)
    const found = await card(request.target)
    other.close()
    await left
    return found
  }

  test('after approval exactly one of two replays passes, though they come together', async () => {
    const request = merge(101)
    const { id } = await leaveHold(request)
    await respond(id)
    const from = everything.recorder.seen.length
    const one = connectLine(agent.target)
    const two = connectLine(agent.target)
    const answers = [one.send(request), two.send(request)].map((answer) =>
      answer.then(
        ({ status }) => status,
        () => 0,
      ),
    )
    await eventually('one of them passes', () => (everything.recorder.seen.length > from ? true : null))
    const again = await card(request.target)
    await respond(again['id'], false)
    expect((await Promise.all(answers)).sort()).toEqual([200, 403])
    expect(everything.recorder.seen.length).toBe(from + 1)
    one.close()
    two.close()
  })

  test.each<[string, number, Partial<AgentRequest>]>([
    ['another body', 111, { body: '{"merge_method":"merge"}' }],
    ['one byte more', 112, { body: '{"merge_method":"squash"} ' }],
    ['another query', 113, { target: '/repos/o/r/pulls/113/merge?a=1' }],
    ['the path written otherwise', 114, { target: '/repos/o/r/pulls/%31%31%34/merge' }],
    ['the body called otherwise', 115, { headers: [['Content-Type', 'application/merge+json']] }],
    ['another number', 116, { target: '/repos/o/r/pulls/1160/merge' }],
  ])('the approval of one is not for %s', async (_what, number, change) => {
    const { id } = await leaveHold(merge(number))
    await respond(id)
    const from = everything.recorder.seen.length
    const other = merge(number, change)
    const held = await leaveHold(other)
    expect(held['id']).not.toBe(id)
    await respond(held['id'], false)
    expect(everything.recorder.seen.length).toBe(from)
    expect((await sent(merge(number))).status).toBe(200)
    expect(everything.recorder.seen.slice(from)).toHaveLength(1)
  })

  test('another agent cannot use it', async () => {
    const request = merge(121)
    const { id } = await leaveHold(request)
    await respond(id)
    const from = everything.recorder.seen.length
    const thief = connectLine((await portAgent(laptop, 'thief')).target)
    const stolen = thief.send(request).then(({ status }) => status)
    const own = await card(request.target)
    expect(own['agent']).toBe('thief')
    await respond(own['id'], false)
    expect(await stolen).toBe(403)
    expect(everything.recorder.seen.length).toBe(from)
    thief.close()
  })

  test('a body that hides what the approver has to see is refused instead of held', async () => {
    const request = merge(131, { headers: [['Content-Type', 'text/plain']] })
    expect(await sent(request)).toMatchObject({ status: 415, seen: [] })
    expect(await pending(request.target)).toEqual([])
  })

  const release = (target: string): AgentRequest => ({
    ...{ method: 'POST', host: 'api.github.com', target },
    ...{ headers: [JSON_TYPE], body: '{"tag_name":"v2"}' },
  })

  test('the card shows the path as it will be sent, with what is given twice in it', async () => {
    const request = release('/repos/o/r/releases?note=a&note=b')
    const shown = await leaveHold(request)
    expect(shown['path']).toBe(request.target)
    expect(JSON.stringify(shown['parameters'])).toContain('"v2"')
    await respond(shown['id'], false)
  })

  test('a field that the operation declares once is refused where it is given twice', async () => {
    const request = release('/repos/o/r/releases?tag_name=v1')
    expect(await sent(request)).toMatchObject({ status: 400, seen: [] })
    expect(await pending(request.target)).toEqual([])
    const [record] = await newestRecords(laptop, 1)
    expect(record).toMatchObject({ decision: 'DENY', reason: 'ambiguous', status: 400 })
  })
})

describe('hosts that resemble a governed one', () => {
  test.each([
    ['a trailing dot', 'api.github.com.', 200],
    ['upper case', 'API.GITHUB.COM', 200],
    ['two trailing dots', 'api.github.com..', 400],
    ['a prefix', 'evil-api.github.com', 403],
    ['a suffix', 'api.github.com.evil.example', 403],
    ['punycode of a resembling name', 'xn--pi-github-4nf.com', 403],
    ['an IPv4 number', '2130706433', 403],
    ['an IPv6 literal', '[::1]', 403],
    ['IPv6 with a zone', '[fe80::1%25lo]', 400],
    ['an octal address', '0177.0.0.1', 403],
    ['a percent escape', 'api%2egithub.com', 400],
    ['an empty label', 'api..github.com', 400],
    ['a byte above ASCII', 'api.g\xefthub.com', 400],
  ])('%s in an absolute target', async (_what, host, status) => {
    const from = everything.recorder.seen.length
    const answer = await agent.send({ method: 'GET', host, target: '/user' }, 'absolute')
    expect(answer.status).toBe(status)
    expect(everything.recorder.seen.length - from).toBe(status === 200 ? 1 : 0)
    const [record] = await newestRecords(laptop, 1)
    expect(record?.decision).toBe(status === 200 ? 'ALLOW' : 'DENY')
  })
})
