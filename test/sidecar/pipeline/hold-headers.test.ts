import { describe, expect, it } from 'vitest'
import { expectRefused, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { type Rules, SECRET, type World } from './test-world.ts'

const HOST = 'api.example.test'
const RULES: Rules = {
  connectors: [{ type: 'generic', domains: [HOST], auth: { type: 'bearer' } }],
  permissions: [['generic.*', 'require_approval']],
}
const JSON_TYPE = ['Content-Type', 'application/json']

function transfer(...headers: string[]): TestExchangeInput {
  return {
    method: 'POST',
    host: HOST,
    target: '/transfer',
    headers: [...JSON_TYPE, ...headers],
    body: '{"amount":5}',
  }
}

/** The bindings of these requests, in order. */
async function bindings(world: World, inputs: readonly TestExchangeInput[]): Promise<string[]> {
  for (const input of inputs) await world.send(input)
  return world.holds.map(({ binding }) => binding)
}

describe('the headers of a held request', () => {
  it('are bound: an approval of one account is none of another', async () => {
    const world = await start(RULES)
    const [alice, mallory, again] = await bindings(world, [
      transfer('X-Account', 'alice', 'X-Dry-Run', 'true'),
      transfer('X-Account', 'mallory', 'X-Dry-Run', 'false'),
      transfer('X-Account', 'alice', 'X-Dry-Run', 'true'),
    ])
    expect(mallory).not.toBe(alice)
    expect(again).toBe(alice)
  })

  it('are in what all requests of a grant have in common, as are the effect classes', async () => {
    const world = await start(RULES)
    await bindings(world, [
      transfer('X-Account', 'alice', 'X-Partner-Token', 'one'),
      transfer('X-Account', 'alice', 'X-Partner-Token', 'one', 'Idempotency-Key', '2'),
      transfer('X-Account', 'mallory', 'X-Partner-Token', 'one'),
      transfer('X-Account', 'alice', 'X-Partner-Token', 'two'),
    ])
    const [first, same, ...others] = world.holds.map((hold) => hold.held_by?.common_sha256)
    expect(first).toMatch(/^[0-9a-f]{64}$/)
    expect(same).toBe(first)
    expect(new Set([first, ...others]).size).toBe(3)
  })

  it('are shown as they leave', async () => {
    const world = await start(RULES)
    const exchange = await world.send(
      transfer('X-Account', ' alice', 'X-DRY-Run', 'true', 'X-Account', 'bob'),
    )
    expect(exchange.reply.status).toBe(403)
    expectRefused(world)
    expect(world.holds[0]?.headers).toEqual([
      { name: 'x-account', value: 'alice' },
      { name: 'x-account', value: 'bob' },
      { name: 'x-dry-run', value: 'true' },
    ])
  })

  const SAME: ReadonlyArray<readonly [string, readonly string[], readonly string[]]> = [
    ['the case of a name', ['X-Account', 'a'], ['x-ACCOUNT', 'a']],
    ['the order of names', ['X-A', '1', 'X-B', '2'], ['X-B', '2', 'X-A', '1']],
    ['blanks around a value', ['X-A', '1'], ['X-A', ' 1\t']],
    ['traceparent', ['traceparent', '00-a-b-01'], ['traceparent', '00-c-d-01']],
    ['tracestate', ['tracestate', 'a=1'], []],
    ['b3', ['b3', '1-2-1'], ['X-B3-TraceId', '1', 'X-B3-SpanId', '2']],
    ['X-Request-Id', ['X-Request-Id', '1'], ['X-Request-Id', '2']],
    ['Datadog', ['x-datadog-trace-id', '1'], ['x-datadog-trace-id', '2', 'x-datadog-parent-id', '3']],
    ['Sentry', ['sentry-trace', '1', 'baggage', 'sentry-trace_id=1'], ['sentry-trace', '2']],
    ['User-Agent', ['User-Agent', 'a/1'], ['User-Agent', 'a/2']],
    ['Date', ['Date', 'Mon, 01 Jan 2029 00:00:00 GMT'], []],
    ['the retry count', ['X-Stainless-Retry-Count', '0'], ['X-Stainless-Retry-Count', '1']],
    ['client telemetry', ['X-Stainless-Lang', 'js'], ['X-Stainless-Timeout', '600']],
    ['Expect', ['Expect', '100-continue'], []],
    [
      'an idempotency key that the client made by itself',
      ['Idempotency-Key', 'stainless-node-retry-0f8fad5b-d9cb-469f-a165-70867728950e'],
      ['Idempotency-Key', 'stainless-node-retry-7c9e6679-7425-40de-944b-e07fc1f90ae7'],
    ],
    ['a credential of its own', ['Authorization', 'Bearer a', 'Cookie', 'b=1', 'X-Api-Key', 'c'], []],
  ]
  it.each(SAME)('%s makes no other request', async (_what, first, second) => {
    const world = await start(RULES)
    const [a, b] = await bindings(world, [transfer(...first), transfer(...second)])
    expect(b).toBe(a)
  })

  const OTHER: ReadonlyArray<readonly [string, readonly string[], readonly string[]]> = [
    ['a new header', [], ['X-Force', 'true']],
    ['a header with an empty value', [], ['X-Force', '']],
    ['a header that is gone', ['X-Dry-Run', 'true'], []],
    ['a repeated header', ['X-To', 'a'], ['X-To', 'a', 'X-To', 'b']],
    ['the order of repeated values', ['X-To', 'a', 'X-To', 'b'], ['X-To', 'b', 'X-To', 'a']],
    ['two values joined', ['X-To', 'a', 'X-To', 'b'], ['X-To', 'a, b']],
    ['the case of a value', ['X-To', 'a'], ['X-To', 'A']],
    ['blanks within a value', ['X-To', 'a b'], ['X-To', 'a  b']],
    ['a name with an underscore', ['X-Request-Id', '1'], ['X_Request_Id', '1']],
    ['a value moved to another name', ['X-From', 'a', 'X-To', 'b'], ['X-From', 'b', 'X-To', 'a']],
    ['a name like a telemetry header', ['X-Stainless-Account', 'a'], ['X-Stainless-Account', 'b']],
    ['a name like a tracing header', ['X-B3-Account', 'a'], ['X-B3-Account', 'b']],
    ['a name that begins like an ignored one', ['Date-Of-Payment', '1'], ['Date-Of-Payment', '2']],
    ['baggage of the application', ['baggage', 'account=alice'], ['baggage', 'account=mallory']],
    ['baggage beside that of Sentry', ['baggage', 'sentry-a=1,t=1'], ['baggage', 'sentry-a=1,t=2']],
    ['an explicit idempotency key', ['Idempotency-Key', 'order-1'], ['Idempotency-Key', 'order-2']],
    [
      'an idempotency key that only begins like an automatic one',
      ['Idempotency-Key', 'stripe-node-retry-0f8fad5b-d9cb-469f-a165-70867728950e-alice'],
      ['Idempotency-Key', 'stripe-node-retry-0f8fad5b-d9cb-469f-a165-70867728950e-bob'],
    ],
    ['Accept', ['Accept', 'application/json'], ['Accept', 'text/html']],
    ['Accept-Language', ['Accept-Language', 'de'], ['Accept-Language', 'en']],
    ['If-Match', ['If-Match', '"1"'], ['If-Match', '*']],
    ['Prefer', ['Prefer', 'respond-async'], []],
    ['Range', ['Range', 'bytes=0-1'], []],
    ['X-Forwarded-For', ['X-Forwarded-For', '10.0.0.1'], ['X-Forwarded-For', '10.0.0.2']],
    ['Forwarded', ['Forwarded', 'for=a'], ['Forwarded', 'for=b']],
    ['Origin', ['Origin', 'https://a.test'], ['Origin', 'https://b.test']],
    ['Mcp-Session-Id outside MCP', ['Mcp-Session-Id', 'a'], ['Mcp-Session-Id', 'b']],
    ['X-User', ['X-User', 'alice'], ['X-User', 'mallory']],
    ['X-Tenant-Id', ['X-Tenant-Id', '1'], ['X-Tenant-Id', '2']],
    ['On-Behalf-Of', ['On-Behalf-Of', 'a'], ['On-Behalf-Of', 'b']],
    ['X-Goog-User-Project', ['X-Goog-User-Project', 'a'], ['X-Goog-User-Project', 'b']],
  ]
  it.each(OTHER)('%s makes another request, with a card of its own', async (_what, first, second) => {
    const world = await start(RULES)
    const [a, b, again] = await bindings(world, [transfer(...first), transfer(...second), transfer(...first)])
    expect(b).not.toBe(a)
    expect(again).toBe(a)
    expect(world.upstream.seen).toEqual([])
  })

  it('an upgrade is another request than the same line without it', async () => {
    const world = await start(RULES)
    const plain: TestExchangeInput = { method: 'GET', host: HOST, target: '/events' }
    const headers = ['Connection', 'Upgrade', 'Upgrade', 'websocket', 'Sec-WebSocket-Version', '13']
    const upgrade = (key: string): TestExchangeInput => ({
      ...plain,
      kind: 'upgrade',
      headers: [...headers, 'Sec-WebSocket-Key', key],
    })
    const [a, b, again] = await bindings(world, [
      { ...plain, headers: ['Sec-WebSocket-Version', '13'] },
      upgrade('dGhlIHNhbXBsZSBub25jZQ=='),
      upgrade('x3JJHMbDL1EzLkh9GBhXDw=='),
    ])
    expect(b).not.toBe(a)
    expect(again).toBe(b)
  })

  it('shows no credential, neither its own that is taken out nor one under another name', async () => {
    const world = await start({
      ...RULES,
      connectors: [{ type: 'generic', domains: [HOST], auth: { type: 'header', header: 'X-Shop-Key' } }],
    })
    await world.send({
      ...transfer(
        ...['Authorization', 'Bearer hush-1', 'X-Api-Key', 'hush-2', 'x-shop-key', 'hush-3'],
        ...['X-Webhook-Secret', 'hush-4', 'Cookie', 's=hush-5', 'X-Partner-Token', 'hush-6'],
      ),
      method: 'GET',
      target: '/transfer?access_token=hush-7&to=a',
    })
    const [hold] = world.holds
    expect(JSON.stringify(hold)).not.toMatch(/hush/)
    expect(JSON.stringify(hold)).not.toContain(SECRET)
    expect(hold?.path).toBe('/transfer?to=a')
    expect(hold?.headers).toEqual([
      { name: 'x-partner-token', value: '(not shown: 6 characters)' },
      { name: 'x-webhook-secret', value: '(not shown: 6 characters)' },
    ])
  })

  it.each([
    ['payments', 'api.stripe.com', '/v1/refunds', 'Stripe-Account', 'acct_1'],
    ['payments', 'api.stripe.com', '/v1/refunds', 'Stripe-Context', 'ctx_1'],
    ['payments', 'api.stripe.com', '/v1/refunds', 'Stripe-Version', '2029-01-01'],
    ['payments', 'api.stripe.com', '/v1/refunds', 'Idempotency-Key', 'order-1'],
    ['llm_a', 'api.openai.com', '/v1/images/generations', 'OpenAI-Organization', 'org-1'],
    ['llm_a', 'api.openai.com', '/v1/images/generations', 'OpenAI-Project', 'proj-1'],
    ['llm_a', 'api.openai.com', '/v1/images/generations', 'OpenAI-Beta', 'assistants=v2'],
    ['llm_b', 'api.anthropic.com', '/v1/messages/batches', 'anthropic-beta', 'files-api-2025'],
    ['llm_b', 'api.anthropic.com', '/v1/messages/batches', 'anthropic-version', '2023-06-01'],
    ['codehost', 'api.github.com', '/repos/a/b/releases', 'X-GitHub-Api-Version', '2022-11-28'],
  ] as const)('%s at %s%s always shows %s', async (type, host, target, name, value) => {
    const world = await start({
      connectors: [{ type, name: `team/${type}`, auth: { type: 'bearer' } }],
      permissions: [[`${type}.*`, 'require_approval']],
    })
    const isForm = type === 'payments'
    const contentType = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
    const headers = ['Content-Type', contentType, 'Accept', '*/*', 'Accept-Encoding', 'gzip', name, value]
    await world.send({ method: 'POST', host, target, headers, body: isForm ? 'charge=ch_1' : '{}' })
    expect(world.holds[0]?.headers).toEqual([{ name: name.toLowerCase(), value }])
  })
})

const PARTS = ['name="purpose"\r\n\r\nfine-tune', 'name="file"; filename="a.txt"\r\n\r\nsome text']
const CRLF = '\r\n'

function form(boundary: string, parts: readonly string[] = PARTS, type = boundary): TestExchangeInput {
  const pieces = parts.map((part) => `--${boundary}${CRLF}Content-Disposition: form-data; ${part}${CRLF}`)
  return {
    ...{ method: 'POST', host: HOST, target: '/files' },
    headers: ['Content-Type', `multipart/form-data; boundary=${type}`],
    body: `${pieces.join('')}--${boundary}--${CRLF}`,
  }
}

describe('the body of a held form', () => {
  const FILES: Rules = {
    connectors: [
      {
        ...{ type: 'generic', domains: [HOST], auth: { type: 'bearer' } },
        bodies: 'opaque',
      },
    ],
    permissions: [['generic.*', 'require_approval']],
  }

  it('is the same form behind another boundary', async () => {
    const world = await start(FILES)
    const made = ['----formdata-undici-012345678901', '----formdata-undici-109876543210', 'x', '"y"']
    const all = await bindings(world, [...made.slice(0, 3).map((b) => form(b)), form('y', PARTS, '"y"')])
    expect(new Set(all).size).toBe(1)
    expect(world.holds[0]?.headers).toEqual([])
  })

  it.each<readonly [string, TestExchangeInput]>([
    ['another value', form('x', ['name="purpose"\r\n\r\nbatch', PARTS[1] ?? ''])],
    ['another file name', form('x', [PARTS[0] ?? '', 'name="file"; filename="b.txt"\r\n\r\nsome text'])],
    ['another order', form('x', [...PARTS].reverse())],
    ['a part more', form('x', [...PARTS, 'name="force"\r\n\r\ntrue'])],
    ['a part less', form('x', PARTS.slice(0, 1))],
    [
      'a type within a part',
      form('x', [PARTS[0] ?? '', 'name="file"; filename="a.txt"\r\nContent-Type: a/b\r\n\r\nsome text']),
    ],
    ['a preamble', { ...form('x'), body: `hello\r\n${String(form('x').body)}` }],
    ['an epilogue', { ...form('x'), body: `${String(form('x').body)}--x\r\n` }],
    ['a declared boundary that is not the one used', form('x', PARTS, 'xx')],
    ['a boundary that readers see differently', form("a'b")],
    ['a further parameter', form('x', PARTS, 'x; charset=utf-8')],
    ['its boundary within a part', form('x', [`${PARTS[0]}\n--x`, PARTS[1] ?? ''])],
    ['another method', { ...form('x'), method: 'PUT' }],
  ])('with %s is another request', async (_what, other) => {
    const world = await start(FILES)
    const [first, second] = await bindings(world, [form('x'), other])
    // Undefined: refused, so there is no card that could pass it.
    expect(second).not.toBe(first)
    expect(world.upstream.seen).toEqual([])
  })
})

describe('a held call of an MCP tool', () => {
  const MCP: Rules = {
    connectors: [{ type: 'mcp', domains: [HOST], auth: { type: 'bearer' } }],
    permissions: [['mcp.*', 'require_approval']],
  }
  const params = (meta: string, more = '"arguments":{"to":"alice","amount":1}') =>
    `"params":{"name":"pay",${more},"_meta":${meta}}`
  const call = (id: string, rest = params('{"progressToken":1}'), ...headers: string[]) => ({
    ...{ method: 'POST', host: HOST, target: '/mcp', headers: [...JSON_TYPE, ...headers] },
    body: `{"jsonrpc":"2.0","id":${id},"method":"tools/call",${rest}}`,
  })

  it.each<readonly [string, TestExchangeInput]>([
    ['id', call('2')],
    ['id that is text', call('"8f1c"')],
    ['progress token', call('1', params('{"progressToken":"p-7"}'))],
    ['session', call('1', undefined, 'Mcp-Session-Id', 'two')],
  ])('is the same call with another %s', async (_what, other) => {
    const world = await start(MCP)
    const [first, second] = await bindings(world, [call('1', undefined, 'Mcp-Session-Id', 'one'), other])
    expect(second).toBe(first)
  })

  const turn = (id: string, more = '') => `{"x-codex-turn-metadata":{"turn_id":${id}${more}}}`

  it.each([
    ['traceparent', '{"traceparent":"00-a-b-01"}', '{"traceparent":"00-c-d-01"}'],
    ['tracestate', '{"tracestate":"a=1"}', '{"tracestate":"a=2"}'],
    ['tool use id', '{"claudecode/toolUseId":"toolu_1"}', '{"claudecode/toolUseId":"toolu_2"}'],
    ['key in escapes', '{"claudecode\\/toolUseId":"toolu_1"}', '{"claudecode\\/toolUseId":"toolu_2"}'],
    ['request id of the editor', '{"vscode.requestId":"a"}', '{"vscode.requestId":"b"}'],
    ['turn', turn('"a"', ',"turn_started_at_unix_ms":1'), turn('"b"', ',"turn_started_at_unix_ms":2')],
    [
      'set of them',
      '{"claudecode/toolUseId":"toolu_7","progressToken":2}',
      '{"claudecode/toolUseId":"toolu_9","progressToken":5}',
    ],
  ])('is the same call with another %s in _meta', async (_what, one, other) => {
    const world = await start(MCP)
    const [first, second] = await bindings(world, [call('1', params(one)), call('2', params(other))])
    expect(first).toBeDefined()
    expect(second).toBe(first)
  })

  const TOOL_USE = '"claudecode/toolUseId":"toolu_1"'

  it.each([
    ['an object as tool use id', '{"claudecode/toolUseId":{"account":"mallory"}}'],
    ['a list as tool use id', '{"claudecode/toolUseId":["mallory"]}'],
    ['a boolean as tool use id', '{"claudecode/toolUseId":true}'],
    ['null as tool use id', '{"claudecode/toolUseId":null}'],
    ['a text as tool use id that is longer than any', `{"claudecode/toolUseId":"${'m'.repeat(600)}"}`],
    ['the case of a key', '{"claudecode/tooluseid":"toolu_1"}'],
    ['a key of that beginning', '{"claudecode/toolUseIds":"toolu_1"}'],
    ['another key of that vendor', `{${TOOL_USE},"claudecode/account":"mallory"}`],
    ['another key of another vendor', `{${TOOL_USE},"openai/subject":"mallory"}`],
    ['a key below', `{"claudecode":{"toolUseId":"toolu_1"}}`],
    ['a key that is a path', `{"vscode":{"requestId":"a"}}`],
    ['baggage', `{${TOOL_USE},"baggage":"account=mallory"}`],
    ['another member beside the turn', turn('"a"', ',"account":"mallory"')],
    ['an object as turn', turn('{"account":"mallory"}')],
    ['a related task', `{${TOOL_USE},"io.modelcontextprotocol/related-task":{"taskId":"9"}}`],
    ['_meta that is text', '"mallory"'],
    ['_meta in a list', `[{${TOOL_USE}}]`],
    ['_meta within _meta', `{"_meta":{${TOOL_USE}}}`],
  ])('is another call with %s', async (_what, meta) => {
    const world = await start(MCP)
    const [first, second] = await bindings(world, [
      call('1', params(`{${TOOL_USE}}`)),
      call('1', params(meta)),
    ])
    expect(first).toBeDefined()
    expect(second).not.toBe(first)
    expect(world.upstream.seen).toEqual([])
  })

  it.each([
    [
      'a key of _meta that is bound',
      call('1', params('{"progressToken":1,"account":"mallory"}')),
      {
        params: { _meta: { account: 'mallory' } },
      },
    ],
    [
      'members beside a turn',
      call('1', params(turn('"a"', ',"model":"m"'))),
      {
        params: { _meta: { 'x-codex-turn-metadata': { model: 'm' } } },
      },
    ],
    [
      'a token that is bound',
      call('1', params('{"progressToken":{"account":"mallory"}}')),
      {
        params: { _meta: { progressToken: { account: '(not shown: 7 characters)' } } },
      },
    ],
    [
      'a task, by the parameter that every card has',
      call('1', params('{}', '"arguments":{},"task":{"ttl":9}')),
      undefined,
    ],
    [
      'a parameter beside the arguments',
      call('1', params('{}', '"arguments":{},"account":"mallory"')),
      {
        params: { account: 'mallory' },
      },
    ],
    ['a key beside params', call('1', `${params('{}')},"account":"mallory"`), { account: 'mallory' }],
    [
      'the name in a call that is none',
      { ...call('1'), body: '{"id":1,"method":"No Method!","params":{"name":"pay","uri":"u"}}' },
      { method: 'No Method!', params: { name: 'pay', uri: 'u' } },
    ],
    [
      'a parameter that is named like the method',
      { ...call('1'), body: '{"jsonrpc":"2.0","id":1,"method":"x/y","params":{"method":"x/y"}}' },
      { params: { method: 'x/y' } },
    ],
    [
      'parameters by position',
      { ...call('1'), body: '{"jsonrpc":"2.0","id":1,"method":"x/y","params":["pay","bob"]}' },
      {
        params: ['pay', 'bob'],
      },
    ],
    [
      '_meta of one of several',
      { ...call('1'), body: `[${call('1').body},${call('2', params('{"account":"mallory"}')).body}]` },
      {
        messages: [{}, { params: { _meta: { account: 'mallory' } } }],
      },
    ],
  ])('shows the approver %s', async (_what, input, shown) => {
    const world = await start(MCP)
    await world.send(input)
    expect(world.holds[0]?.parameters['other_fields']).toEqual(shown)
    expectRefused(world)
  })

  it('shows the approver nothing twice, and nothing that is not bound', async () => {
    const world = await start(MCP)
    await world.send(call('1', params(`{"progressToken":1,${TOOL_USE}}`)))
    expect(world.holds[0]?.parameters).toEqual({ name: 'pay', arguments: { to: 'alice', amount: 1 } })
  })

  it.each<readonly [string, TestExchangeInput]>([
    ['another argument', call('1', params('{"progressToken":1}', '"arguments":{"to":"bob","amount":1}'))],
    [
      'another spelling of a number',
      call('1', params('{"progressToken":1}', '"arguments":{"to":"alice","amount":1.0}')),
    ],
    ['another key of _meta', call('1', params('{"progressToken":1,"account":"mallory"}'))],
    ['an object as progress token', call('1', params('{"progressToken":{"account":"mallory"}}'))],
    ['an object as id', call('{"account":"mallory"}')],
    ['no id', { ...call('1'), body: call('1').body.replace('"id":1,', '') }],
    ['null as id', call('null')],
    ['a key beside params', call('1', `${params('{"progressToken":1}')},"account":"mallory"`)],
    [
      'an id within the arguments',
      call('1', params('{"progressToken":1}', '"arguments":{"to":"alice","amount":1,"id":2}')),
    ],
    [
      'a progress token within the arguments',
      call('1', params('{"progressToken":1}', '"arguments":{"to":"alice","amount":1,"progressToken":2}')),
    ],
    ['a list of calls', { ...call('1'), body: `[${call('1').body}]` }],
    ['another path', { ...call('1'), target: '/mcp?account=mallory' }],
    ['an unknown header', call('1', undefined, 'X-Account', 'mallory')],
    ['another protocol version', call('1', undefined, 'X-Protocol', '2')],
  ])('is another call with %s', async (_what, other) => {
    const world = await start(MCP)
    const [first, second, again] = await bindings(world, [call('1'), other, call('7')])
    expect(second).not.toBe(first)
    if (again !== undefined) expect(again).toBe(first)
    expect(world.upstream.seen).toEqual([])
  })

  it('binds every element of a list as it is', async () => {
    const world = await start(MCP)
    const list = (id: string) => ({ ...call('1'), body: `[${call(id).body}]` })
    const [first, second] = await bindings(world, [list('1'), list('2')])
    expect(second).not.toBe(first)
  })
})
