import { Readable } from 'node:stream'
import { describe, expect, it, vi } from 'vitest'
import { exceedsJsonBounds } from '../../../core/request/json/json-size.ts'
import { size } from '../../support/proof.ts'
import { replySse } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import { type TestExchangeInput, testExchange } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const CONNECTORS: Rules['connectors'] = [
  { type: 'llm_a', name: 'team/openai', auth: { type: 'bearer' } },
  { type: 'llm_b', name: 'team/anthropic', auth: { type: 'header', header: 'x-api-key' } },
  { type: 'llm_c', name: 'team/gemini', auth: { type: 'header', header: 'x-goog-api-key' } },
]
const PLAIN: Rules = {
  connectors: CONNECTORS,
  permissions: [
    ['llm_a.*', 'allow'],
    ['llm_b.*', 'allow'],
    ['llm_c.*', 'allow'],
  ],
}
const POLICY: Rules = {
  ...PLAIN,
  policies: [
    {
      name: 'team/only-these-models',
      document: {
        rules: [
          {
            name: 'forbidden',
            conditions: ['has(parameters.model) && parameters.model == "forbidden-model"'],
            decision: 'deny',
          },
        ],
      },
    },
  ],
}

const post = (host: string, target: string, body: TestExchangeInput['body']): TestExchangeInput => ({
  ...{ method: 'POST', host, target, headers: JSON_BODY },
  ...(body === undefined ? {} : { body }),
})
const responses = (body: TestExchangeInput['body']) => post('api.openai.com', '/v1/responses', body)
const messages = (body: TestExchangeInput['body']) => post('api.anthropic.com', '/v1/messages', body)
const gemini = (body: TestExchangeInput['body']) =>
  post('generativelanguage.googleapis.com', '/v1beta/models/pro:generateContent', body)

const MIB = 1024 * 1024
const PROMPT = 'lorem ipsum "dolor" \n é 🙂 '.repeat(130_000)
const prompt = (rest: string, text = JSON.stringify(PROMPT)) =>
  `{"messages":[{"role":"user","content":[{"type":"text","text":${text}}]}],${rest}}`

describe('the record of an allowed request', () => {
  const rules: Rules = {
    connectors: CONNECTORS,
    permissions: [
      ['llm_a.chat.create', 'allow'],
      ['llm_a.chat.create_stream', 'allow'],
    ],
  }
  const chat = (stream: boolean) =>
    post('api.openai.com', '/v1/chat/completions', JSON.stringify({ model: 'm', messages: [], stream }))

  it('names the permission of its action, not that of another candidate of its line', async () => {
    const world = await start(rules)
    for (const stream of [false, true, false]) {
      expect((await world.send(chat(stream))).reply.status).toBe(200)
    }
    const [plain, streamed, again] = world.records
    expect(plain?.reason).toBe('Permission "llm_a.chat.create" allows llm_a.chat.create.')
    expect(streamed?.reason).toBe('Permission "llm_a.chat.create_stream" allows llm_a.chat.create_stream.')
    expect(again?.reason).toBe(plain?.reason)
  })
})

describe('a policy on the name of the model', () => {
  it.each([
    ['llm_a', responses],
    ['llm_b', messages],
  ])('reads a prompt of several MiB to its end (%s)', async (_type, send) => {
    const world = await start(POLICY)
    const denied = await world.send(send(prompt('"model":"forbidden-model"')))
    expect(denied.reply.status).toBe(403)
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toMatchObject([{ decision: 'DENY', reason: 'policy' }])
    const body = prompt('"model":"usual-model"')
    expect((await world.send(send(body))).reply.status).toBe(200)
    expect(world.upstream.seen).toHaveLength(1)
    expect(world.upstream.seen[0]?.body.equals(Buffer.from(body))).toBe(true)
  })

  it('reads a body that arrives in pieces, without a length', async () => {
    const world = await start(POLICY)
    const pieces = Array.from({ length: 40 }, () => Buffer.from('x'.repeat(64 * 1024)))
    const send = (model: string) =>
      messages(Readable.from([Buffer.from('{"text":"'), ...pieces, Buffer.from(`","model":"${model}"}`)]))
    expect((await world.send(send('forbidden-model'))).reply.status).toBe(403)
    expectRefused(world)
    expect((await world.send(send('usual-model'))).reply.status).toBe(200)
  })

  it('has a limit, which the refusal names together with the policy', async () => {
    const world = await start(POLICY)
    const { reply } = await world.send(messages(Buffer.alloc(32 * MIB + 1, ' ')))
    expect(reply.status).toBe(413)
    expect(reply.json()['message']).toMatch(/Policy "team\/only-these-models".*32 MiB \(33554432 bytes\)/)
    expectRefused(world)
  })

  it('has a limit, and with refusalDetail: brief the refusal names the limit only', async () => {
    const world = await start({ ...POLICY, gateway: { refusalDetail: 'brief' } })
    const { reply } = await world.send(messages(Buffer.alloc(32 * MIB + 1, ' ')))
    const keys = Array.from({ length: 20_001 }, (_, n) => `"k${n}":0`).join()
    const many = await world.send(messages(`{${keys}}`))
    expect(reply.status).toBe(413)
    expect(reply.json()['message']).toMatch(/32 MiB \(33554432 bytes\)/)
    expect(many.reply.json()['message']).toMatch(/20000 keys/)
    for (const each of [reply, many.reply])
      expect(JSON.stringify(each.json())).not.toContain('only-these-models')
  })

  it('names policy and limit where the structure is too large', async () => {
    const world = await start(POLICY)
    const keys = Array.from({ length: 20_001 }, (_, n) => `"k${n}":0`).join()
    const { reply } = await world.send(messages(`{${keys}}`))
    expect(reply.status).toBe(413)
    expect(reply.json()['message']).toMatch(/20000 keys.*policy "team\/only-these-models"/i)
    expectRefused(world)
  })
})

describe('a model request under plain rules', () => {
  it.each([
    ['llm_a.response.create_stream', responses, '"stream":true'],
    ['llm_a.response.create', responses, '"stream":false'],
    ['llm_a.response.create', responses, '"model":"m"'],
    ['llm_b.message.create_stream', messages, '"stream":true'],
    ['llm_b.message.create', messages, '"stream":"true"'],
  ])('is recorded as %s by what stands behind its text', async (type, send, rest) => {
    const world = await start(PLAIN)
    const { reply } = await world.send(send(prompt(rest)))
    expect(reply.status).toBe(200)
    expect(world.records.map(({ action_type }) => action_type)).toEqual([type])
  })

  it('has a limit, which the refusal names', async () => {
    const world = await start(PLAIN)
    const { reply } = await world.send(responses(Buffer.alloc(32 * MIB + 1, ' ')))
    expect(reply.status).toBe(413)
    expect(reply.json()['message']).toMatch(/32 MiB \(33554432 bytes\)/)
    expectRefused(world)
  })

  it('passes with 32 MiB', async () => {
    const world = await start(PLAIN)
    const text = prompt('"model":"m","stream":true', '""')
    const body = Buffer.from(`${text}${' '.repeat(32 * MIB - text.length)}`)
    expect((await world.send(responses(body))).reply.status).toBe(200)
    expect(world.upstream.seen[0]?.body.length).toBe(32 * MIB)
  })

  it('that is denied with any body is refused before its body arrives', async () => {
    const world = await start({ connectors: CONNECTORS })
    const { reply } = await world.send(messages(new Readable({ read() {} })))
    expect(reply.status).toBe(403)
    expectRefused(world)
  })

  it('of many values is no larger than its bytes', async () => {
    const world = await start(PLAIN)
    const turns = Array.from({ length: 30_000 }, () => '{"role":"user","content":"hi"}').join()
    const { reply } = await world.send(messages(`{"messages":[${turns}],"stream":true}`))
    expect(reply.status).toBe(200)
    expect(world.records[0]?.action_type).toBe('llm_b.message.create_stream')
  })

  it('has the same limit for batches, which the provider takes up to 256 MB', async () => {
    const world = await start(PLAIN)
    const body = Readable.from(Array.from({ length: 40 }, () => Buffer.alloc(MIB, ' ')))
    expect((await world.send(post('api.anthropic.com', '/v1/messages/batches', body))).reply.status).toBe(413)
    expectRefused(world)
  })
})

const TEXT = `"a":"${'x'.repeat(MIB)}"`
const AMBIGUOUS: ReadonlyArray<readonly [string, string]> = [
  ['the model twice', '"model":"usual-model","model":"forbidden-model"'],
  ['the model twice around the text', `"model":"usual-model",${TEXT},"model":"forbidden-model"`],
  ['the model twice behind the text', `${TEXT},"model":"usual-model","model":"forbidden-model"`],
  ['the model twice, once with escapes', `"model":"usual-model",${TEXT},"\\u006dodel":"forbidden-model"`],
  ['the model in capitals', `${TEXT},"MODEL":"forbidden-model"`],
  ['the model in capitals beside it', `"model":"usual-model",${TEXT},"Model":"forbidden-model"`],
  ['the model in wide letters', `"model":"usual-model",${TEXT},"ｍodel":"forbidden-model"`],
  ['a NUL in a key', `"model":"usual-model",${TEXT},"model\\u0000":"forbidden-model"`],
  ['a key of a message twice', `${TEXT},"messages":[{"role":"user","role":"system"}]`],
  ['a key of a tool twice', `${TEXT},"tools":[{"name":"a","x":[{"b":{"c":1,"c":2}}]}]`],
  ['another key twice', `"temperature":0,${TEXT},"temperature":1`],
  ['a second value', `"model":"usual-model"}{"model":"forbidden-model"`],
  ['a comment', `${TEXT}/*,"model":"usual-model"*/,"model":"forbidden-model"`],
  ['a trailing comma', `${TEXT},"model":"usual-model",`],
  ['single quotes', `${TEXT},'model':"usual-model"`],
  ['no end', `${TEXT},"model":"usual-model","messages":[`],
  ['NaN', `${TEXT},"temperature":NaN`],
]

describe('a model request that servers read in several ways', () => {
  it.each(AMBIGUOUS)('%s', async (_what, members) => {
    for (const rules of [PLAIN, POLICY]) {
      const world = await start(rules)
      for (const send of [responses, messages, gemini]) {
        const { reply } = await world.send(send(`{${members}}`))
        expect(reply.status).toBe(400)
      }
      expect(world.upstream.seen).toEqual([])
      expect(world.records).toHaveLength(3)
      expect(world.intents).toEqual([])
    }
  })

  it.each([
    ['stream twice', '"stream":false,"stream":true'],
    ['stream in capitals', '"STREAM":true'],
    ['a long s', '"\u017ftream":true'],
    ['the limit of tokens twice', '"max_tokens":1,"max_tokens":100000'],
    ['the limit of tokens in capitals', '"MAX_TOKENS":100000'],
  ])('%s', async (_what, members) => {
    const world = await start(PLAIN)
    expect((await world.send(messages(`{${TEXT},${members}}`))).reply.status).toBe(400)
    expectRefused(world)
  })

  it('names another model below than its path', async () => {
    const world = await start(PLAIN)
    const target = '/v1beta/models/pro:batchEmbedContents'
    const body = `{${TEXT},"requests":[{"model":"models/pro"},{"model":"models/other"}]}`
    const { reply } = await world.send(post('generativelanguage.googleapis.com', target, body))
    expect(reply.status).toBe(400)
    expectRefused(world)
  })
})

describe('a held model request', () => {
  const HELD: Rules = { connectors: CONNECTORS, permissions: [['llm_b.*', 'require_approval']] }

  it('may have as many bytes as any other, and its card describes all of them', async () => {
    const world = await start(HELD)
    world.state.onHold = async () => ({ kind: 'approved', approvalId: 'apv_1', by: 'usr_1' })
    const text = JSON.stringify('x'.repeat(9 * MIB))
    const tools = '"tools":[{"name":"f","authorization_token":"canary"}]'
    const body = prompt(`"model":"m","max_tokens":5,"system":"be short",${tools},"stream":true`, text)
    const exchange = testExchange(messages(body))
    // The exchange gets a reply around this one while it is held.
    const { reply } = exchange
    await world.run(exchange)
    expect(reply.status).toBe(200)
    expect(world.upstream.seen[0]?.body.equals(Buffer.from(body))).toBe(true)
    expect(world.holds).toMatchObject([
      {
        action_type: 'llm_b.message.create_stream',
        parameters: {
          ...{ model: 'm', stream: true, max_tokens: 5 },
          other_fields: {
            messages: expect.stringMatching(/not shown: \d+ bytes/),
            system: 'be short',
            tools: [{ name: 'f', authorization_token: '(not shown: 6 characters)' }],
          },
        },
        unread_body: null,
      },
    ])
    expect(JSON.stringify(world.holds)).not.toContain('canary')
  })

  it('shows the beginning of a long text', async () => {
    const world = await start(HELD)
    await world.send(messages(`{"model":"m","system":"begin ${'é'.repeat(2 * MIB)}","messages":[]}`))
    expect(world.holds[0]?.parameters['other_fields']).toMatchObject({
      system: expect.stringMatching(/^begin é+… /),
      messages: [],
    })
  })
})

describe('the budget of buffered bodies', () => {
  const FULL = { bodyBudget: { totalBytes: 2 * MIB, waitMs: 50 } }
  const TWO: Rules = { ...PLAIN, agents: [{}, { id: 'agent_2', name: 'other' }] }
  const body = (kib: number) => prompt('"stream":true', JSON.stringify('x'.repeat(kib * 1024)))

  it('refuses requests over the budget with 503 and Retry-After, in the error format of the provider', async () => {
    const connectors = CONNECTORS.map((one) => ({ ...one, errorShape: 'provider' as const }))
    const world = await start({ ...TWO, connectors }, FULL)
    world.upstream.answerWith(() => undefined)
    const first = testExchange(messages(body(1900)))
    const done = world.run(first)
    await waitFor(() => expect(world.upstream.seen).toHaveLength(1))
    const other = { ...messages(body(900)), credentials: { kind: 'port', agent: 'other' } } as const
    const { reply } = await world.send(other)
    expect(reply.status).toBe(503)
    expect(reply.header('retry-after')).toBe('5')
    expect(reply.json()).toMatchObject({
      type: 'error',
      error: { message: expect.stringContaining('2 MiB') },
    })
    expect(world.upstream.seen).toHaveLength(1)
    expect(world.records).toMatchObject([{ status: 503, reason: 'not_ready' }])
    first.abort.abort(new Error('gone'))
    await done
  })

  it('is released as soon as the provider begins to respond', async () => {
    const world = await start(TWO, { bodyBudget: { ...FULL.bodyBudget, waitMs: 60_000 } })
    world.upstream.answerWith(replySse(100_000, 5))
    const exchanges = Array.from({ length: 4 }, () => testExchange(messages(body(1900))))
    const done = exchanges.map((exchange) => world.run(exchange))
    await waitFor(() => expect(world.upstream.seen).toHaveLength(4))
    for (const exchange of exchanges) {
      await waitFor(() => expect(exchange.reply.chunks.length).toBeGreaterThan(0))
      expect(exchange.bodyBytes).toBeUndefined()
      exchange.abort.abort(new Error('gone'))
    }
    await Promise.all(done)
  })

  it('is released by refused requests', async () => {
    const world = await start(PLAIN, FULL)
    for (let n = 0; n < 5; n++) {
      expect(
        (await world.send(messages(`{"a":1,"a":2,"b":"${'x'.repeat(1900 * 1024)}"}`))).reply.status,
      ).toBe(400)
    }
    expect((await world.send(messages(body(1900)))).reply.status).toBe(200)
  })
})

describe('a policy on the name of the model, whatever the label of the body', () => {
  const FORBIDDEN = prompt('"model":"forbidden-model"')
  const TYPES: ReadonlyArray<readonly [what: string, headers: readonly string[], status: number]> = [
    ['JSON in other letters', ['Content-Type', 'Application/JSON'], 403],
    ['JSON with its charset', ['Content-Type', 'application/json; charset=UTF-8'], 403],
    ['JSON of a vendor', ['Content-Type', 'application/vnd.api+json'], 403],
    ['another charset', ['Content-Type', 'application/json; charset=utf-16'], 415],
    ['plain text', ['Content-Type', 'text/plain'], 415],
    ['a stream of bytes', ['Content-Type', 'application/octet-stream'], 415],
    ['a multipart form', ['Content-Type', 'multipart/form-data; boundary=x'], 415],
    ['no label', [], 415],
    ['gzip', [...JSON_BODY, 'Content-Encoding', 'gzip'], 415],
    ['zstd', [...JSON_BODY, 'Content-Encoding', 'zstd'], 415],
    ['two encodings', [...JSON_BODY, 'Content-Encoding', 'identity, gzip'], 415],
  ]

  it.each(TYPES)('%s', async (_what, headers, status) => {
    const world = await start(POLICY)
    const { reply } = await world.send({ ...responses(FORBIDDEN), headers })
    expect(reply.status).toBe(status)
    expectRefused(world)
  })
})

describe('a model request of many MiB', () => {
  const filled = (piece: string) => piece.repeat(Math.floor((size(3, 6) * MIB) / piece.length))
  const LARGE: ReadonlyArray<readonly [what: string, body: string, status: number]> = [
    ['objects', `{"messages":[${filled('{},')}0],"model":"m"}`, 200],
    ['objects with keys', `{"messages":[${filled('{"a":0,"b":1},')}0],"model":"m"}`, 200],
    ['keys with escapes', `{"messages":[${filled('{"\\u0061":0},')}0],"model":"m"}`, 200],
    ['numbers', `{"messages":[${filled('1,')}0],"model":"m"}`, 200],
    ['nesting at the bound', `{"messages":[${filled(`${'['.repeat(60)}${']'.repeat(60)},`)}0]}`, 200],
    ['nesting beyond it', `{"messages":${filled('[')}`, 400],
    ['backslashes', `{"messages":"${filled('\\\\')}","model":"m"}`, 200],
    ['blanks', `{"messages":[]${filled(' ')},"model":"m"}`, 200],
    ['a model', `{"model":"${filled('m')}"}`, 413],
    ['a model of lists', `{"model":[${filled('[],')}0]}`, 413],
    ['a key', `{"${filled('k')}":0}`, 413],
    ['a key of escapes', `{"${filled('\\u006b')}":0}`, 413],
    ['a number', `{"n":${filled('1')}}`, 400],
    ['a list that never ends', `{"messages":[${filled('0,')}`, 400],
    ['commas', `{${filled(',')}}`, 400],
  ]

  it.each(LARGE)('is read in slices, and no parser gets all of it: %s', async (_what, body, status) => {
    const parse = JSON.parse
    const parsed: string[] = []
    const spy = vi.spyOn(JSON, 'parse').mockImplementation((text, reviver) => {
      parsed.push(String(text))
      return parse(text, reviver)
    })
    const world = await start(POLICY)
    parsed.length = 0
    const exchange = testExchange(messages(body))
    let turns = 0
    let isOver = false
    const count = () => {
      turns += 1
      if (!isOver) setImmediate(count)
    }
    setImmediate(count)
    await world.run(exchange)
    isOver = true
    spy.mockRestore()
    expect(exchange.reply.status).toBe(status)
    expect(parsed.filter((text) => text.length > MIB || exceedsJsonBounds(text))).toEqual([])
    if (status === 200) expect(turns).toBeGreaterThan(size(45, 90))
    else expectRefused(world)
  })
})
