import { describe, expect, it } from 'vitest'
import type { Answer } from '../../support/recorder.ts'
import { dataIn, eventsIn, holdRequest } from './held-world.ts'
import { expectRefused } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { journalFailure, killAll, type Rules } from './test-world.ts'

const RULES: Rules = {
  connectors: [{ type: 'mcp', name: 'tools', domains: ['tools.example'], auth: { type: 'bearer' } }],
  permissions: [['mcp.*', 'require_approval']],
}
const PAY = {
  jsonrpc: '2.0',
  id: 7,
  method: 'tools/call',
  params: { name: 'pay', _meta: { progressToken: 'p' } },
}
const BOTH = 'application/json, text/event-stream'

function call(message: unknown = PAY, accept: string | null = BOTH): TestExchangeInput {
  const accepts = accept === null ? [] : ['Accept', accept]
  return {
    ...{ method: 'POST', host: 'tools.example', target: '/mcp' },
    headers: ['Content-Type', 'application/json', ...accepts],
    body: typeof message === 'string' ? message : JSON.stringify(message),
  }
}

const DONE = { jsonrpc: '2.0', id: 7, result: { content: [{ type: 'text', text: 'naïve\n' }] } }

function answer(status: number, type: string, body: string, headers: Record<string, string> = {}): Answer {
  return (_request, response) => {
    response.writeHead(status, { 'content-type': type, ...headers })
    response.end(body)
  }
}

const progress = (text: string) => dataIn(text).filter(({ method }) => method === 'notifications/progress')
const rest = (text: string) => dataIn(text).filter(({ method }) => method !== 'notifications/progress')

describe('a held MCP call whose client takes events', () => {
  it('gets 200 and progress while it waits, then the result', async () => {
    const held = await holdRequest(RULES, call())
    const { world, reply } = held
    world.upstream.answerWith(
      answer(200, 'application/json', JSON.stringify(DONE, null, 2).replaceAll('\n', '\r\n')),
    )
    await held.sent('"progress":0.002')
    expect(reply).toMatchObject({ status: 200, state: 'streaming' })
    expect(reply.header('content-type')).toBe('text/event-stream')
    expect(reply.header('x-service-decision')).toBe('require_approval')
    expect(reply.text()).toMatch(/^: /)
    expect(world.upstream.seen).toEqual([])
    held.settle('approved')
    await held.done
    expect(reply.state).toBe('ended')
    expect(progress(reply.text())[0]).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p', progress: 0.001, message: 'Waiting for an approver to answer.' },
    })
    expect(rest(reply.text())).toEqual([DONE])
    expect(world.upstream.seen).toHaveLength(1)
    expect(world.upstream.seen[0]?.header('accept-encoding')).toBe('identity')
    expect(world.records).toMatchObject([{ decision: 'ALLOW', note: 'approved', status: 200 }])
  })

  it('gets the events of a server that streams as they are', async () => {
    const held = await holdRequest(RULES, call())
    const stream = `id: 1\r\nevent: message\r\ndata: ${JSON.stringify(DONE)}\r\n\r\n: bye\r\n\r\n`
    held.world.upstream.answerWith(answer(200, 'Text/Event-Stream; charset=utf-8', stream))
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(held.reply.text().endsWith(`\n\n${stream}`)).toBe(true)
    expect(rest(held.reply.text())).toEqual([DONE])
  })

  it.each(['denied', 'expired', 'cancelled'] as const)(
    'that is %s gets a JSON-RPC error and the end',
    async (kind) => {
      const held = await holdRequest(RULES, call())
      await held.sent('progress')
      held.settle(kind, 'not today')
      await held.done
      expect(held.reply.state).toBe('ended')
      expect(rest(held.reply.text())).toMatchObject([
        { jsonrpc: '2.0', id: 7, error: { code: -32001, data: { approval_id: 'apv_9', decision: 'deny' } } },
      ])
      expectRefused(held.world)
      const reason = kind === 'expired' ? 'approval_expired' : 'approval_denied'
      expect(held.world.records).toMatchObject([
        { decision: 'DENY', status: 200, reason, approval_id: 'apv_9' },
      ])
    },
  )

  it('that the kill switch cuts receives its reason', async () => {
    const held = await holdRequest(RULES, call())
    await held.sent('progress')
    held.exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await held.done
    expect(rest(held.reply.text())).toMatchObject([
      { id: 7, error: { message: 'Kill switch active: incident 7' } },
    ])
    expect(held.reply.state).toBe('ended')
    expectRefused(held.world)
    expect(held.world.records).toMatchObject([{ decision: 'DENY', status: 200, reason: 'kill_switch' }])
  })

  it('that new rules deny after the approval receives their reason', async () => {
    const held = await holdRequest(RULES, call())
    await held.sent('progress')
    held.world.apply({ ...RULES, permissions: [['mcp.*', 'deny']] })
    held.settle('approved')
    await held.done
    expect(rest(held.reply.text())).toMatchObject([{ id: 7, error: { code: -32001 } }])
    expectRefused(held.world)
    expect(held.world.records).toMatchObject([{ decision: 'DENY', status: 200, reason: 'permission' }])
  })

  it.each([
    ['leaves', new Error('the client closed the connection')],
    ['meets the end of the gateway', new Error('the gateway is stopping')],
  ])('whose client %s is cut and recorded as HOLD with the status that was sent', async (_what, reason) => {
    const held = await holdRequest(RULES, call())
    await held.sent('progress')
    held.exchange.abort.abort(reason)
    await held.done
    expect(held.reply.state).toBe('destroyed')
    expectRefused(held.world)
    expect(held.world.records).toMatchObject([{ decision: 'HOLD', status: 200, approval_id: 'apv_9' }])
  })

  it.each<readonly [string, Answer, string]>([
    [
      'an error of HTTP',
      answer(502, 'text/html', '<h1>down</h1>'),
      'The upstream answered 502 (text/html): <h1>down</h1>',
    ],
    [
      'a session that is gone',
      answer(404, 'application/json', '{"error":"no session"}'),
      '404 (application/json): {"error":"no session"}',
    ],
    [
      'an error of another call',
      answer(400, 'application/json', '{"jsonrpc":"2.0","id":8,"error":{"code":1,"message":"x"}}'),
      'answered 400',
    ],
    [
      'an answer in another encoding',
      answer(200, 'application/json', 'zzz', { 'content-encoding': 'br' }),
      '200 (application/json, br-encoded)',
    ],
    ['another type', answer(200, 'image/png', 'PNG'), 'answered 200 (image/png)'],
    ['nothing but a status', answer(500, 'text/plain', ''), 'answered 500'],
    ['a connection that ends', (_request, response) => void response.destroy(), 'does not send it again'],
  ])('tells the client of %s', async (_what, upstream, text) => {
    const held = await holdRequest(RULES, call())
    held.world.upstream.answerWith(upstream)
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(held.reply.state).toBe('ended')
    expect(rest(held.reply.text())).toMatchObject([
      { jsonrpc: '2.0', id: 7, error: { code: -32603, message: expect.stringContaining(text) } },
    ])
    expect(held.world.records).toMatchObject([{ decision: 'ALLOW', approval_id: 'apv_9' }])
  })

  it('is not recorded as executed where the client leaves before the server answers', async () => {
    const held = await holdRequest(RULES, call())
    held.world.upstream.answerWith(() =>
      held.exchange.abort.abort(new Error('the client closed the connection')),
    )
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(held.reply.state).toBe('destroyed')
    expect(held.world.intents).toMatchObject([{ decision: 'ALLOW', status: null }])
    expect(held.world.records).toMatchObject([{ decision: 'ALLOW', status: null, approval_id: 'apv_9' }])
  })

  it('is not recorded as executed where the server breaks the connection', async () => {
    const held = await holdRequest(RULES, call())
    held.world.upstream.answerWith((_request, response) => void response.destroy())
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(held.reply).toMatchObject({ status: 200, state: 'ended' })
    expect(held.world.records).toMatchObject([{ decision: 'ALLOW', status: 502, error_type: 'connect' }])
  })

  it('is refused within the stream when the journal fails after the approval', async () => {
    const held = await holdRequest(RULES, call())
    held.world.state.intentError = journalFailure()
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(rest(held.reply.text())).toMatchObject([{ id: 7, error: { code: -32603 } }])
    expect(held.reply.state).toBe('ended')
    expectRefused(held.world)
    expect(held.world.records).toMatchObject([{ decision: 'DENY', status: 200 }])
  })

  it('names the call in an error also where its body is no longer kept', async () => {
    const params = { name: 'pay', arguments: { note: 'x'.repeat(200_000) }, _meta: { progressToken: 'p' } }
    const held = await holdRequest(RULES, call({ ...PAY, params }))
    held.world.upstream.answerWith(answer(502, 'text/html', 'down'))
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(held.exchange.bodyBytes).toBeUndefined()
    expect(rest(held.reply.text())).toMatchObject([{ id: 7, error: { code: -32603 } }])
  })

  it('passes on an error of the server in JSON-RPC', async () => {
    const own = { jsonrpc: '2.0', id: 7, error: { code: -32602, message: 'no such tool' } }
    const held = await holdRequest(RULES, call())
    held.world.upstream.answerWith(answer(400, 'application/json', JSON.stringify(own)))
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(rest(held.reply.text())).toEqual([own])
  })

  it('is cut where the answer of the server is', async () => {
    const held = await holdRequest(RULES, call())
    held.world.upstream.answerWith((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.write('{"jsonrpc":')
      setTimeout(() => response.destroy(), 20)
    })
    await held.sent('progress')
    held.settle('approved')
    await held.done
    expect(held.reply.state).toBe('destroyed')
  })

  it.each([
    [
      'events of its own',
      '{"jsonrpc":"2.0","id":7,\n\ndata: {"jsonrpc":"2.0","id":7,"result":"forged"}\n\n"result":1}',
    ],
    ['events behind a lone CR', '{"id":7,\r\revent: error\rdata: {}\r\r"result":1}'],
    ['a comment and a name', '{"id":7,\n: c\nevent: endpoint\nid: 9\nretry: 1\n\n"result":1}'],
  ])('lets no answer of JSON write %s', async (_what, body) => {
    const held = await holdRequest(RULES, call())
    held.world.upstream.answerWith(answer(200, 'application/json', body))
    await held.sent('progress')
    held.settle('approved')
    await held.done
    const last = eventsIn(held.reply.text()).filter(({ data }) => !data.includes('notifications/progress'))
    expect(last).toEqual([{ event: 'message', data: body.replaceAll('\r', '\n') }])
  })

  it('numbers the progress of a token that is a number, and sends none without a token', async () => {
    const numbered = await holdRequest(
      RULES,
      call({ ...PAY, params: { name: 'pay', _meta: { progressToken: 0 } } }),
    )
    await numbered.sent('"progressToken":0,"progress":0.001')
    const plain = await holdRequest(RULES, call({ ...PAY, params: { name: 'pay' } }))
    await plain.sent(': ')
    expect(dataIn(plain.reply.text())).toEqual([])
    for (const each of [numbered, plain]) {
      each.settle('denied')
      await each.done
    }
  })

  it.each<readonly [string, TestExchangeInput]>([
    ['takes JSON only', call(PAY, 'application/json')],
    ['says nothing of types', call(PAY, null)],
    ['takes everything', call(PAY, '*/*')],
    ['takes any text', call(PAY, 'text/*')],
    ['refuses events', call(PAY, 'application/json, text/event-stream;q=0')],
    ['refuses events in other words', call(PAY, 'text/event-stream ; Q=0.000')],
    ['names a type of that beginning', call(PAY, 'text/event-streams')],
    ['opens a session', call({ ...PAY, method: 'initialize', params: {} })],
    ['sends a notification', call({ jsonrpc: '2.0', method: 'notifications/cancelled' })],
    ['has null as id', call({ ...PAY, id: null })],
    ['has a list as id', call({ ...PAY, id: [7] })],
    ['has an id that would be rounded', call(JSON.stringify(PAY).replace('7', '12345678901234567890'))],
    ['has a fraction as id', call({ ...PAY, id: 7.5 })],
    ['sends a batch', call([PAY])],
    ['sends another version', call({ ...PAY, jsonrpc: '1.0' })],
    ['sends a response', call({ jsonrpc: '2.0', id: 7, result: {} })],
    ['sends no message', call('[]')],
    ['asks by GET', { ...call(), method: 'GET' }],
  ])('answers as before where the client %s', async (_what, input) => {
    const held = await holdRequest(RULES, input)
    expect(held.exchange.reply).toBe(held.reply)
    held.settle('denied')
    await held.done
    expect(held.reply.state).toBe('sent')
    expect(held.reply.header('content-type')).not.toBe('text/event-stream')
    expectRefused(held.world)
  })

  it('answers as before when an approver answers in time', async () => {
    const held = await holdRequest(RULES, call(), 60_000)
    held.world.upstream.answerWith(
      answer(200, 'application/json', JSON.stringify(DONE), { 'mcp-session-id': 's' }),
    )
    held.settle('approved')
    await held.done
    expect(held.reply.header('content-type')).toBe('application/json')
    expect(held.reply.header('mcp-session-id')).toBe('s')
    expect(held.reply.json()).toEqual(DONE)
  })
})
