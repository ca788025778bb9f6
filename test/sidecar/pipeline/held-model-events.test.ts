import { describe, expect, it } from 'vitest'
import { dataIn, eventsIn, holdRequest } from './held-world.ts'
import { expectRefused } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const HOSTS = {
  llm_a: 'api.openai.com',
  llm_b: 'api.anthropic.com',
  llm_c: 'generativelanguage.googleapis.com',
} as const
type Provider = keyof typeof HOSTS

function rulesFor(type: Provider): Rules {
  return {
    connectors: [{ type, name: 'model', auth: { type: 'bearer' } }],
    permissions: [[`${type}.*`, 'require_approval']],
  }
}

function ask(
  type: Provider,
  target: string,
  body: unknown = { model: 'm', stream: true },
): TestExchangeInput {
  const headers = ['Content-Type', 'application/json', 'Accept', 'application/json', ...SDK]
  return { method: 'POST', host: HOSTS[type], target, headers, body: JSON.stringify(body) }
}

const SDK = ['X-Goog-Api-Client', 'google-genai-sdk/2.32.0 gl-node/v24.21.0']
const CHAT = '/v1/chat/completions'
const GEMINI = '/v1beta/models/m:streamGenerateContent?alt=sse'

const STREAMS = [
  ['llm_a', CHAT, ': the request is in progress\n\n'],
  ['llm_a', '/v1/responses', ': the request is in progress\n\n'],
  ['llm_a', '/v1/completions', ': the request is in progress\n\n'],
  ['llm_b', '/v1/messages', 'event: ping\ndata: {"type":"ping"}\n\n'],
  ['llm_b', '/v1/complete', 'event: ping\ndata: {"type":"ping"}\n\n'],
  ['llm_c', GEMINI, '\n'],
] as const

const bodyOf = (type: Provider) => (type === 'llm_c' ? { contents: [] } : { model: 'm', stream: true })

describe('a held request for a stream of a model', () => {
  it.each(STREAMS)('of %s %s is kept alive by %j, then gets the stream', async (type, target, idle) => {
    const held = await holdRequest(rulesFor(type), ask(type, target, bodyOf(type)))
    const stream = 'event: message_start\ndata: {"type":"message_start"}\n\ndata: [DONE]\n\n'
    held.world.upstream.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end(stream)
    })
    await held.sent(idle.repeat(3))
    expect(held.reply).toMatchObject({ status: 200, state: 'streaming' })
    expect(held.world.upstream.seen).toEqual([])
    held.settle('approved')
    await held.done
    const text = held.reply.text()
    expect(text.endsWith(stream)).toBe(true)
    expect(text.slice(0, -stream.length).replaceAll(idle, '')).toBe('')
    expect(held.reply.state).toBe('ended')
    expect(held.world.upstream.seen).toHaveLength(1)
    expect(held.world.records).toMatchObject([{ decision: 'ALLOW', note: 'approved', status: 200 }])
  })

  it.each([
    ['llm_a', CHAT, [{ event: null, data: { error: { code: 'chaperone_refused' } } }]],
    [
      'llm_a',
      '/v1/responses',
      [
        {
          event: 'error',
          data: { type: 'error', code: 'chaperone_refused', error: { type: 'invalid_request_error' } },
        },
        {
          event: 'response.failed',
          data: { response: { status: 'failed', error: { code: 'invalid_prompt' } } },
        },
      ],
    ],
    [
      'llm_b',
      '/v1/messages',
      [{ event: 'error', data: { type: 'error', error: { type: 'permission_error' } } }],
    ],
    ['llm_c', GEMINI, [{ event: null, data: { error: { code: 403, status: 'PERMISSION_DENIED' } } }]],
  ] as const)('of %s %s that is denied gets the error of the provider', async (type, target, wanted) => {
    const held = await holdRequest(rulesFor(type), ask(type, target, bodyOf(type)))
    await held.sent('\n')
    held.settle('denied', 'not today')
    await held.done
    expect(held.reply.state).toBe('ended')
    const events = eventsIn(held.reply.text()).filter(({ event }) => event !== 'ping')
    expect(events.map(({ event, data }) => ({ event, data: JSON.parse(data) }))).toMatchObject(wanted)
    for (const { data } of events) expect(data).toContain('not today')
    expectRefused(held.world)
    const record = { decision: 'DENY', reason: 'approval_denied', status: 200, approval_id: 'apv_9' }
    expect(held.world.records).toMatchObject([record])
  })

  it('passes on an error of the provider, and lets clients try again what may succeed later', async () => {
    const own = {
      error: { message: 'slow down', type: 'requests', code: 'rate_limit_exceeded', param: null },
    }
    const held = await holdRequest(rulesFor('llm_a'), ask('llm_a', '/v1/responses'))
    held.world.upstream.answerWith((_request, response) => {
      response.writeHead(429, { 'content-type': 'application/json' })
      response.end(JSON.stringify(own))
    })
    await held.sent(': ')
    held.settle('approved')
    await held.done
    expect(dataIn(held.reply.text())).toMatchObject([
      { error: own.error },
      { response: { error: { code: 'server_error', message: 'slow down' } } },
    ])
  })

  it.each([
    ['a page of HTML', 502, 'text/html', '<h1>down</h1>', 'The upstream answered 502'],
    ['an error in another form', 400, 'application/json', '{"detail":"no"}', '{"detail":"no"}'],
  ] as const)('gets %s in the form of the provider', async (_what, status, type, body, text) => {
    const held = await holdRequest(rulesFor('llm_b'), ask('llm_b', '/v1/messages'))
    held.world.upstream.answerWith((_request, response) => {
      response.writeHead(status, { 'content-type': type })
      response.end(body)
    })
    await held.sent('ping')
    held.settle('approved')
    await held.done
    const last = dataIn(held.reply.text()).at(-1)
    expect(last).toMatchObject({ type: 'error', error: { message: expect.stringContaining(text) } })
  })

  it.each([
    ['generative-ai of JavaScript', ['X-Goog-Api-Client', 'genai-js/0.24.1']],
    ['another client', []],
    ['a client with a similar name', ['X-Goog-Api-Client', 'my-google-genai-sdk/1']],
    ['two names', ['X-Goog-Api-Client', 'genai-js/0.24.1', 'X-Goog-Api-Client', 'google-genai-sdk/2.32.0']],
  ])('of Gemini is answered as before for %s: blank lines end its stream', async (_what, named) => {
    const input = ask('llm_c', GEMINI, { contents: [] })
    const headers = [...(input.headers ?? []).slice(0, -SDK.length), ...named]
    const held = await holdRequest(rulesFor('llm_c'), { ...input, headers })
    expect(held.exchange.reply).toBe(held.reply)
    held.settle('denied')
    await held.done
    expect(held.reply.state).toBe('sent')
  })

  it.each([
    ['asks for no stream', 'llm_a', CHAT, { model: 'm' }],
    ['asks for no stream by false', 'llm_b', '/v1/messages', { model: 'm', stream: false }],
    ['asks in a text', 'llm_b', '/v1/messages', { model: 'm', stream: 'true' }],
    ['asks for a list of JSON', 'llm_c', '/v1beta/models/m:streamGenerateContent', { contents: [] }],
    ['asks for one answer', 'llm_c', '/v1beta/models/m:generateContent?alt=sse', { contents: [] }],
    ['asks an unknown path', 'llm_a', '/v1/new', { stream: true }],
  ] as const)('is answered as before where the client %s', async (_what, type, target, body) => {
    const held = await holdRequest(rulesFor(type), ask(type, target, body))
    expect(held.exchange.reply).toBe(held.reply)
    held.settle('denied')
    await held.done
    expect(held.reply.state).toBe('sent')
    expectRefused(held.world)
    expect(held.world.records).toMatchObject([{ decision: 'DENY' }])
  })
})
