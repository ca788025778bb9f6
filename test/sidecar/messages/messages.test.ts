import { describe, expect, it } from 'vitest'
import { EventReply } from '../../../sidecar/pipeline/response/event-reply.ts'
import { waitFor } from '../../support/wait-for.ts'
import { killAll, SECRET } from '../pipeline/test-world.ts'
import { AGENT, ALLOW_CALLS, CREATE, startMessages } from './message-world.ts'

const policy = (decision: string) => ({
  document: {
    scope: { actions: ['llm_a.response.*'] },
    rules: [
      { name: 'models', conditions: ["parameters.model == 'other'"], decision, reason: 'not that model' },
    ],
  },
})

describe('a WebSocket whose messages are read', () => {
  it('carries each message as an action with a record of its own, unchanged, with our credential', async () => {
    const { world, model, connect } = await startMessages()
    const client = await connect({ Authorization: 'Bearer sk-own', 'OpenAI-Beta': 'responses_websockets' })
    client.send(CREATE)
    await client.seen(3)
    client.send({ ...CREATE, previous_response_id: 'resp_1', stream: true })
    await client.seen(6)
    expect(model.messages).toEqual([
      JSON.stringify(CREATE),
      JSON.stringify({ ...CREATE, previous_response_id: 'resp_1', stream: true }),
    ])
    expect(model.handshakes[0]?.headers).toMatchObject({
      authorization: `Bearer ${SECRET}`,
      'openai-beta': 'responses_websockets',
    })
    expect(model.handshakes[0]?.headers).not.toHaveProperty('sec-websocket-extensions')
    await waitFor(() => expect(world.records).toHaveLength(2))
    for (const record of world.records)
      expect(record).toMatchObject({
        ...{ action_type: 'llm_a.response.create_stream', decision: 'ALLOW', status: 200 },
        ...{ method: 'POST', path: '/v1/responses', host: 'api.openai.com', transport: 'websocket' },
      })
    // The answer to the first message gave the agent what the second one names.
    expect(world.records.map(({ handle = null }) => handle)).toEqual([null, 'own'])
    client.socket.close(1000)
    expect(await client.closed).toBe(1000)
    await waitFor(() => expect(world.records).toHaveLength(3))
    expect(world.records[2]).toMatchObject({
      ...{
        action_type: 'llm_a.websocket.connect',
        decision: 'ALLOW',
        status: 101,
        method: 'GET',
        note: null,
      },
    })
    expect(world.intents).toHaveLength(3)
    expect(world.live.size).toBe(0)
  })

  it('is not opened where every model call is denied, and nothing is sent', async () => {
    const { world, model, connect } = await startMessages({ permissions: [['llm_a.response.*', 'deny']] })
    await expect(connect()).rejects.toThrow('answered 403')
    expect(model.handshakes).toEqual([])
    expect(world.records).toMatchObject([{ action_type: 'llm_a.websocket.connect', decision: 'DENY' }])
  })

  it('needs no permission for websocket.open, and that permission alone does not open it', async () => {
    const { connect } = await startMessages({ permissions: [['llm_a.websocket.*', 'allow']] })
    await expect(connect()).rejects.toThrow('answered 403')
  })

  it('is held neither by a rule that holds model calls nor by one that holds WebSockets', async () => {
    const { world, connect } = await startMessages({
      permissions: [
        ['llm_a.response.*', 'require_approval'],
        ['llm_a.websocket.*', 'require_approval'],
      ],
    })
    await connect()
    expect(world.holds).toEqual([])
  })

  it('refuses a message by an error event on the same socket and continues', async () => {
    const { world, model, connect } = await startMessages({ policies: [policy('deny')] })
    const client = await connect()
    client.send({ ...CREATE, model: 'other', stream_id: 'lane-2' })
    const [event] = await client.seen(1)
    expect(event).toMatchObject({
      ...{ type: 'error', status: 403, stream_id: 'lane-2', decision: 'deny' },
      error: { type: 'invalid_request_error', code: 'chaperone_refused', param: null },
      action_type: 'llm_a.response.create_stream',
      request_id: expect.stringMatching(/^req_/),
      record_id: world.records[0]?.id,
    })
    expect(JSON.stringify(event)).toContain('not that model')
    expect(model.messages).toEqual([])
    expect(world.records).toMatchObject([{ decision: 'DENY', status: 403, reason: 'policy' }])
    expect(world.intents).toHaveLength(1)
    client.send(CREATE)
    expect((await client.seen(4)).at(-1)).toMatchObject({ type: 'response.completed' })
    expect(model.messages).toEqual([JSON.stringify(CREATE)])
  })

  it('decides each message as the answer that streams: a permission for the other form is none', async () => {
    const { world, model, connect } = await startMessages({
      permissions: [['llm_a.response.create', 'allow']],
    })
    const client = await connect()
    client.send(CREATE)
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status: 403 }])
    expect(model.messages).toEqual([])
    expect(world.records).toMatchObject([{ action_type: 'llm_a.response.create_stream', decision: 'DENY' }])
  })

  it('holds a message for an approver, forwards it once, and lets no later one overtake it', async () => {
    const { world, model, connect } = await startMessages({ policies: [policy('require_approval')] })
    let approve = () => {}
    world.state.onHold = () =>
      new Promise((resolve) => {
        approve = () => resolve({ kind: 'approved', approvalId: 'apv_1', by: 'ann' })
      })
    const client = await connect()
    client.send({ ...CREATE, model: 'other' })
    client.send(CREATE)
    await waitFor(() => expect(world.holds).toHaveLength(1))
    expect(world.holds[0]).toMatchObject({
      ...{ action_type: 'llm_a.response.create_stream', method: 'POST', path: '/v1/responses' },
      parameters: { model: 'other', other_fields: expect.objectContaining({ input: 'hello' }) },
    })
    client.socket.ping()
    await waitFor(() => expect(model.sockets.size).toBe(1))
    expect(model.messages).toEqual([])
    approve()
    await client.seen(6)
    expect(model.messages.map((text) => JSON.parse(text).model)).toEqual(['other', 'm-1'])
    await waitFor(() => expect(world.records).toHaveLength(2))
    expect(world.records[0]).toMatchObject({ decision: 'ALLOW', note: 'approved', approval_id: 'apv_1' })
  })

  it('sends the result of a held message as an event of its WebSocket, however long it is held', async () => {
    const { world, model, connect } = await startMessages({ permissions: [['llm_a.*', 'require_approval']] })
    Object.assign(world.ports, { heldEvents: { openAfterMs: 1, everyMs: 1 } })
    let deny = () => {}
    world.state.onHold = () =>
      new Promise((resolve) => {
        deny = () => resolve({ kind: 'denied', approvalId: 'apv_1', note: 'no' })
      })
    const client = await connect()
    client.send(CREATE)
    await waitFor(() => expect(world.holds).toHaveLength(1))
    for (const { reply } of world.live) expect(reply).not.toBeInstanceOf(EventReply)
    deny()
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status: 403, approval_id: 'apv_1' }])
    expect(client.events).toHaveLength(1)
    expect(model.messages).toEqual([])
    await waitFor(() => expect(world.records).toMatchObject([{ decision: 'DENY', status: 403 }]))
  })

  it.each(['denied', 'expired'] as const)('a held message that is %s gets an error event', async (kind) => {
    const { world, model, connect } = await startMessages({ permissions: [['llm_a.*', 'require_approval']] })
    world.state.onHold = async () => ({ kind, approvalId: 'apv_1', note: 'no' })
    const client = await connect()
    client.send(CREATE)
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status: 403, approval_id: 'apv_1' }])
    expect(model.messages).toEqual([])
    await waitFor(() =>
      expect(world.records).toMatchObject([{ decision: 'DENY', reason: `approval_${kind}` }]),
    )
  })

  it('ends a hold when its client leaves', async () => {
    const { world, model, connect } = await startMessages({ permissions: [['llm_a.*', 'require_approval']] })
    world.state.onHold = (_hold, signal) =>
      new Promise((resolve) =>
        signal.addEventListener('abort', () => resolve({ kind: 'aborted', approvalId: 'apv_1' })),
      )
    const client = await connect()
    client.send(CREATE)
    await waitFor(() => expect(world.holds).toHaveLength(1))
    client.socket.terminate()
    await waitFor(() => expect(world.records).toHaveLength(2))
    expect(model.messages).toEqual([])
    expect(world.records[0]).toMatchObject({ decision: 'HOLD', status: null })
    expect(world.live.size).toBe(0)
    await waitFor(() => expect(model.sockets.size).toBe(0))
  })

  it('answers 429 with the time to wait when the agent has sent too much', async () => {
    const { world, model, connect } = await startMessages()
    const client = await connect()
    world.state.rate = { ok: false, retryAfterS: 7 }
    client.send(CREATE)
    expect(await client.seen(1)).toMatchObject([
      { type: 'error', status: 429, headers: { 'retry-after': '7' }, error: { type: 'rate_limit_error' } },
    ])
    expect(model.messages).toEqual([])
  })

  it('is cut by the kill switch, with the message in flight', async () => {
    const { world, model, connect } = await startMessages()
    model.answer = (_text, socket) => socket.send('{"type":"response.created"}')
    const client = await connect()
    client.send(CREATE)
    await client.seen(1)
    for (const exchange of world.live) exchange.abort.abort({ kind: 'kill', entry: killAll() })
    await client.closed
    await waitFor(() => expect(world.records).toHaveLength(2))
    for (const record of world.records) expect(record).toMatchObject({ note: 'aborted by a kill switch' })
    await waitFor(() => expect(model.sockets.size).toBe(0))
  })

  it('takes no message that comes while the kill switch is active', async () => {
    const { world, model, connect } = await startMessages()
    const client = await connect()
    world.state.kill = [killAll()]
    client.send(CREATE)
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status: 403, scope: 'all' }])
    expect(model.messages).toEqual([])
  })

  it.each([
    ['the agent is suspended', { agents: [{ ...AGENT, status: 'suspended' as const }] }, 403],
    ['the agent is gone', { agents: [] }, 407],
    ['its key is another one', { agents: [{ key_sha256: 'f'.repeat(64) }] }, 407],
    ['the permission is taken back', { permissions: [] }, 403],
    ['the connector is gone', { connectors: [] }, 403],
    ['the credential is removed', { connectors: [{ secret: null }] }, 403],
    ['the credential is replaced', { connectors: [{ secret: 'another-secret-of-it' }] }, 503],
    [
      'the address is replaced',
      { connectors: [{ upstream: { url: 'https://other.example', allowPrivateAddresses: false } }] },
      503,
    ],
    ['messages are no longer read', { connectors: [{ webSocketMessages: false }] }, 503],
    ['it is another connector', { connectors: [{ id: 'conn_9' }] }, 503],
  ])('judges a message by the rules of its moment: %s', async (_name, change, status) => {
    const { world, model, connect, rules } = await startMessages()
    const client = await connect()
    world.apply(rules(change))
    client.send(CREATE)
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status }])
    expect(model.messages).toEqual([])
    expect(world.records.filter(({ method }) => method === 'POST')).toHaveLength(1)
    if (status === 503) expect(await client.closed).toBe(1012)
  })

  it('continues after a change of unrelated rules', async () => {
    const { world, connect, rules } = await startMessages()
    const client = await connect()
    world.apply(rules({ permissions: [...ALLOW_CALLS, ['llm_a.file.*', 'deny']] }))
    client.send(CREATE)
    expect((await client.seen(3)).at(-1)).toMatchObject({ type: 'response.completed' })
  })

  it('carries several answers at once by their stream_id, each with its own status', async () => {
    const { world, model, connect } = await startMessages()
    const seen: string[] = []
    model.answer = (text, socket) => {
      seen.push(JSON.parse(text).stream_id)
      if (seen.length < 2) return
      socket.send('{"type":"error","status":429,"stream_id":"b","error":{"code":"rate_limit_exceeded"}}')
      socket.send('{"type":"response.completed","stream_id":"a"}')
    }
    const client = await connect()
    client.send({ ...CREATE, stream_id: 'a' })
    client.send({ ...CREATE, stream_id: 'b' })
    await client.seen(2)
    await waitFor(() => expect(world.records).toHaveLength(2))
    expect(world.records).toMatchObject([{ status: 429, error_type: '429' }, { status: 200 }])
  })

  it('passes the acknowledgement of an answer without a record', async () => {
    const { world, model, connect } = await startMessages()
    const client = await connect()
    client.send(CREATE)
    await client.seen(3)
    model.answer = () => undefined
    client.send({ type: 'response.processed', response_id: 'resp_1' })
    await waitFor(() => expect(model.messages).toHaveLength(2))
    expect(world.records).toHaveLength(1)
  })

  it('reports an upstream that closes before its response, and cuts a response that had begun', async () => {
    const { world, model, connect } = await startMessages()
    model.answer = (_text, socket) => socket.terminate()
    const client = await connect()
    client.send(CREATE)
    expect(await client.seen(1)).toMatchObject([{ type: 'error', status: 502 }])
    await client.closed
    model.answer = (_text, socket) => socket.send('{"type":"response.created"}', () => socket.terminate())
    const other = await connect()
    other.send(CREATE)
    await other.closed
    await waitFor(() => expect(world.records).toHaveLength(4))
    const calls = world.records.filter(({ method }) => method === 'POST')
    expect(calls).toMatchObject([
      { status: 502, error_type: 'connect' },
      { status: 200, note: 'cut', error_type: 'connect' },
    ])
  })
})
