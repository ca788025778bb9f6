import { describe, expect, it } from 'vitest'
import {
  type Ask,
  asked,
  events,
  expectOwned,
  type Given,
  give,
  json,
  lastRecord,
  refusalOf,
  rules,
} from './handles-world.ts'
import { start } from './pipeline-world.ts'

const MODEL = { model: 'm', input: 'x' }
const MESSAGE = { model: 'm', max_tokens: 1, messages: [] }
const continued = (id: string) => ({ type: 'continue', previous_message_id: id })
const RPC = { jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} }
const SESSION = ['Mcp-Session-Id', 's1']

const GIVEN: readonly Given[] = [
  [
    'a response',
    { at: 'a', path: '/v1/responses', body: MODEL },
    json({ object: 'response', output: [{ id: 'msg_1' }], id: 'resp_1' }),
    [
      { at: 'a', method: 'GET', path: '/v1/responses/resp_1' },
      { at: 'a', method: 'GET', path: '/v1/responses/resp_1/input_items' },
      { at: 'a', path: '/v1/responses/resp_1/cancel' },
      { at: 'a', method: 'DELETE', path: '/v1/responses/%72esp_1' },
      { at: 'a', path: '/v1/responses', body: { ...MODEL, previous_response_id: 'resp_1' } },
      { at: 'a', path: '/v1/responses/compact', body: { ...MODEL, previous_response_id: 'resp_1' } },
    ],
  ],
  [
    'a response that streams',
    { at: 'a', path: '/v1/responses', body: { ...MODEL, stream: true } },
    events({ type: 'response.created', response: { id: 'resp_2' } }),
    [{ at: 'a', path: '/v1/responses', body: { ...MODEL, previous_response_id: 'resp_2' } }],
  ],
  [
    'a message of a thread that the provider keeps',
    { at: 'b', path: '/v1/messages', body: { ...MESSAGE, thread: { type: 'create' } } },
    json({ id: 'msg_1', type: 'message' }),
    [{ at: 'b', path: '/v1/messages', body: { ...MESSAGE, thread: continued('msg_1') } }],
  ],
  [
    'a message of a continued thread that streams',
    { at: 'b', path: '/v1/messages', body: { ...MESSAGE, stream: true, thread: continued('msg_0') } },
    events({ type: 'message_start', message: { id: 'msg_2' } }),
    [{ at: 'b', path: '/v1/messages', body: { ...MESSAGE, stream: true, thread: continued('msg_2') } }],
  ],
  [
    'a thread',
    { at: 'a', path: '/v1/threads', body: {} },
    json({ id: 'thread_1', object: 'thread' }),
    [
      { at: 'a', method: 'GET', path: '/v1/threads/thread_1/messages' },
      { at: 'a', path: '/v1/threads/thread_1/runs', body: { assistant_id: 'asst_1' } },
    ],
  ],
  [
    'a conversation',
    { at: 'a', path: '/v1/conversations', body: {} },
    json({ id: 'conv_1' }),
    [
      { at: 'a', path: '/v1/responses', body: { ...MODEL, conversation: 'conv_1' } },
      { at: 'a', path: '/v1/responses', body: { ...MODEL, conversation: { id: 'conv_1' } } },
    ],
  ],
  [
    'a batch',
    { at: 'a', path: '/v1/batches', body: { input_file_id: 'file_9', endpoint: '/v1/responses' } },
    json({ id: 'batch_1' }),
    [{ at: 'a', path: '/v1/batches/batch_1/cancel' }],
  ],
  [
    'a vector store',
    { at: 'a', path: '/v1/vector_stores', body: {} },
    json({ id: 'vs_1' }),
    [
      {
        at: 'a',
        path: '/v1/responses',
        body: { ...MODEL, tools: [{ type: 'file_search', vector_store_ids: ['vs_0', 'vs_1'] }] },
      },
    ],
  ],
  [
    'a batch of messages',
    { at: 'b', path: '/v1/messages/batches', body: { requests: [] } },
    json({ id: 'msgbatch_1' }),
    [{ at: 'b', method: 'GET', path: '/v1/messages/batches/msgbatch_1/results' }],
  ],
  [
    'a hosted session',
    { at: 'b', path: '/v1/sessions', body: { agent: 'agent_1' } },
    json({ id: 'sesn_1', type: 'session' }),
    [
      { at: 'b', path: '/v1/sessions/sesn_1/events', body: { events: [] } },
      { at: 'b', method: 'GET', path: '/v1/sessions/sesn_1/events/stream' },
    ],
  ],
  [
    'a batch as a resource name',
    { at: 'c', path: '/v1beta/models/gemini:batchGenerateContent', body: { batch: {} } },
    json({ name: 'batches/b1', metadata: {} }),
    [
      { at: 'c', path: '/v1beta/batches/b1:cancel' },
      { at: 'c', method: 'GET', path: '/v1beta/batches/b1' },
    ],
  ],
  [
    'an interaction',
    { at: 'c', path: '/v1beta/interactions', body: { model: 'm', input: 'x' } },
    json({ id: 'int_1' }),
    [
      { at: 'c', method: 'GET', path: '/v1beta/interactions/int_1' },
      { at: 'c', path: '/v1beta/interactions', body: { input: 'x', previous_interaction_id: 'int_1' } },
    ],
  ],
  [
    'a session of an MCP server',
    { at: 'mcp', path: '/mcp', body: { ...RPC, method: 'initialize' } },
    json({ jsonrpc: '2.0', id: 1, result: {} }, { 'mcp-session-id': 's1' }),
    [
      { at: 'mcp', path: '/mcp', body: RPC, headers: SESSION },
      { at: 'mcp', method: 'DELETE', path: '/mcp', headers: SESSION },
      {
        at: 'mcp',
        method: 'GET',
        path: '/mcp',
        headers: [...SESSION, 'Accept', 'text/event-stream', 'Last-Event-ID', '7'],
      },
    ],
  ],
]

describe('a handle that a provider gave to one agent', () => {
  it.each(GIVEN)('%s is refused to another one, and passes for its own', async (...given) => {
    const world = await start(rules())
    await give(world, given)
    expect(lastRecord(world)?.given).toHaveLength(1)
    expect(JSON.stringify(world.records)).not.toMatch(/"(resp|thread|conv|batch|vs|sesn|int)_1"/)
    await expectOwned(world, given[3])
  })

  it.each(GIVEN)('%s passes for every agent with handles: shared', async (...given) => {
    const world = await start(rules({ handles: 'shared' }))
    await give(world, given)
    for (const use of given[3]) expect((await world.send(asked('b', use))).reply.status).toBe(200)
  })

  it.each(GIVEN)('%s that is not known passes with own, and not with strict', async (...given) => {
    const world = await start(rules())
    for (const use of given[3]) {
      world.apply(rules())
      expect((await world.send(asked('b', use))).reply.status).toBe(200)
      expect(lastRecord(world)).toMatchObject({ handle: 'unknown' })
      world.apply(rules({ handles: 'strict' }))
      expect((await world.send(asked('b', use))).reply.status).toBe(refusalOf(use))
      expect(lastRecord(world)).toMatchObject({ decision: 'DENY', handle: 'unknown' })
    }
  })

  it('passes at the level monitor, which says so', async () => {
    const world = await start(rules({}, { enforcementLevel: 'monitor' }))
    const given = GIVEN[0] as Given
    await give(world, given)
    expect((await world.send(asked('b', given[3][0] as Ask))).reply.status).toBe(200)
    expect(lastRecord(world)).toMatchObject({ decision: 'ALLOW', would: 'DENY', handle: 'foreign' })
  })

  it('is known by the control plane where another gateway saw it', async () => {
    const world = await start(rules())
    const hashes: string[] = []
    world.state.onHandles = async (given) => {
      hashes.push(...given.hashes)
      return { owners: given.hashes.map(() => (given.agent === 'a' ? 'own' : 'foreign')) }
    }
    const use: Ask = { at: 'a', method: 'GET', path: '/v1/responses/resp_7' }
    expect((await world.send(asked('b', use))).reply.status).toBe(403)
    expect((await world.send(asked('a', use))).reply.status).toBe(200)
    expect((await world.send(asked('a', use))).reply.status).toBe(200)
    // Answers are kept for a while.
    expect(hashes).toHaveLength(2)
    expect(hashes[0]).toMatch(/^[0-9a-f]{64}$/)
  })

  it('stays refused while the control plane does not answer, and an unknown handle passes', async () => {
    const world = await start(rules())
    world.state.onHandles = async () => {
      throw new Error('away')
    }
    await give(world, GIVEN[0] as Given)
    const use = (id: string): Ask => ({ at: 'a', method: 'GET', path: `/v1/responses/${id}` })
    expect((await world.send(asked('b', use('resp_1')))).reply.status).toBe(403)
    expect((await world.send(asked('b', use('resp_2')))).reply.status).toBe(200)
    world.apply(rules({ handles: 'strict' }))
    expect((await world.send(asked('b', use('resp_2')))).reply.status).toBe(403)
  })

  it('is not taken over by an answer that repeats an id of the request, or by a failed one', async () => {
    const world = await start(rules())
    world.upstream.answerWith(json({ id: 'run_1', thread_id: 'thread_9' }))
    const run: Ask = { at: 'a', path: '/v1/threads/thread_9/runs', body: { assistant_id: 'asst_1' } }
    expect((await world.send(asked('a', run))).reply.status).toBe(200)
    expect(lastRecord(world)).toMatchObject({ handle: 'unknown' })
    expect(lastRecord(world)?.given ?? null).toBeNull()
    world.upstream.answerWith((_request, response) => {
      response.writeHead(400, { 'content-type': 'application/json' })
      response.end('{"id":"resp_9"}')
    })
    await world.send(asked('a', { at: 'a', path: '/v1/responses', body: MODEL }))
    expect(lastRecord(world)?.given ?? null).toBeNull()
  })

  it('is another thing at another server of one’s own', async () => {
    const world = await start(rules())
    await give(world, GIVEN.at(-1) as Given)
    const use: Ask = { at: 'other', path: '/mcp', body: RPC, headers: SESSION }
    expect((await world.send(asked('b', use))).reply.status).toBe(200)
  })

  it('requests an uncompressed response, and leaves plain calls unchanged', async () => {
    const world = await start(rules())
    const headers = ['Accept-Encoding', 'gzip']
    await world.send(asked('a', { at: 'a', path: '/v1/responses', body: MODEL, headers }))
    await world.send(asked('a', { at: 'a', path: '/v1/chat/completions', body: { model: 'm' }, headers }))
    expect(world.upstream.seen.map((seen) => seen.header('accept-encoding'))).toEqual(['identity', 'gzip'])
  })

  it('is refused where a request names too many', async () => {
    const world = await start(rules())
    const file_ids = Array.from({ length: 65 }, (_none, at) => `file_${at}`)
    const body = { ...MODEL, tools: [{ type: 'code_interpreter', container: { type: 'auto', file_ids } }] }
    expect((await world.send(asked('a', { at: 'a', path: '/v1/responses', body }))).reply.status).toBe(413)
    expect(world.upstream.seen).toEqual([])
  })
})
