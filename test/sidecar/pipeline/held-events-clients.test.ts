import { createHash } from 'node:crypto'
import Anthropic from '@anthropic-ai/sdk'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import OpenAI from 'openai'
import { fetch, ProxyAgent } from 'undici'
import { afterEach, describe, expect, it } from 'vitest'
import { createAdmit } from '../../../sidecar/pipeline/admit.ts'
import type { HoldOutcome } from '../../../sidecar/pipeline/ports.ts'
import type { Answer } from '../../support/recorder.ts'
import { startFront } from '../listener/harness.ts'
import { dataIn } from './held-world.ts'
import { startMcpWorld } from './mcp-world.ts'
import { type Rules, startWorld, type World } from './test-world.ts'

const KEY = 'svc_test_abc'
const open: AsyncDisposable[] = []
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each[Symbol.asyncDispose]()
})

/** Answers for the approver once the client has had some events. */
function holdWith(world: World, outcome: HoldOutcome): void {
  Object.assign(world.ports, { heldEvents: { openAfterMs: 1, everyMs: 1 } })
  world.state.onHold = async () => {
    const waiting = () => [...world.live].find(({ isWaiting }) => isWaiting === true)
    while ((waiting()?.reply.bytesOut ?? 0) < 100) await new Promise((resolve) => setImmediate(resolve))
    return outcome
  }
}

const YES: HoldOutcome = { kind: 'approved', approvalId: 'apv_9', by: null }
const NO: HoldOutcome = { kind: 'denied', approvalId: 'apv_9', note: 'not today' }

/** What an unmodified client uses: the real front, by a proxy. */
async function start(rules: Rules, outcome: HoldOutcome, answer: Answer) {
  const agents = [{ key_sha256: createHash('sha256').update(KEY).digest('hex') }]
  const world = await startWorld({ agents, ...rules }, { answer })
  const front = await startFront({ handle: world.run, admit: createAdmit(world.ports) })
  const agent = new ProxyAgent({
    uri: `http://127.0.0.1:${front.port}`,
    token: `Basic ${Buffer.from(`builder:${KEY}`).toString('base64')}`,
    requestTls: { ca: front.ca.certPem },
  })
  open.push(world, front, { [Symbol.asyncDispose]: () => agent.destroy() })
  holdWith(world, outcome)
  const governed = ((url: string, init: object) => fetch(url, { ...init, dispatcher: agent })) as never
  return { world, governed: governed as typeof globalThis.fetch }
}

const events =
  (...parts: readonly string[]): Answer =>
  (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(parts.map((part) => `${part}\n\n`).join(''))
  }

function model(type: 'llm_a' | 'llm_b'): Rules {
  return {
    connectors: [{ type, name: 'model', auth: { type: 'bearer' } }],
    permissions: [[`${type}.*`, 'require_approval']],
  }
}

const MESSAGES = [{ role: 'user' as const, content: 'hi' }]

async function chatWith(governed: typeof globalThis.fetch): Promise<string> {
  const openai = new OpenAI({ apiKey: 'x', fetch: governed, maxRetries: 0 })
  let said = ''
  const stream = await openai.chat.completions.create({ model: 'm', messages: MESSAGES, stream: true })
  for await (const chunk of stream) said += chunk.choices[0]?.delta.content ?? ''
  return said
}

async function respondWith(governed: typeof globalThis.fetch): Promise<string> {
  const openai = new OpenAI({ apiKey: 'x', fetch: governed, maxRetries: 0 })
  let said = ''
  for await (const event of await openai.responses.create({ model: 'm', input: 'hi', stream: true }))
    if (event.type === 'response.output_text.delta') said += event.delta
  return said
}

async function messageWith(governed: typeof globalThis.fetch): Promise<string> {
  const anthropic = new Anthropic({ apiKey: 'x', fetch: governed, maxRetries: 0 })
  let said = ''
  const asked = { model: 'm', max_tokens: 9, messages: MESSAGES, stream: true } as const
  for await (const event of await anthropic.messages.create(asked))
    if (event.type === 'content_block_delta' && event.delta.type === 'text_delta') said += event.delta.text
  return said
}

const TEXT_DELTA = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hello"}}'
const SDKS = [
  [
    'chat completions of OpenAI',
    'llm_a',
    chatWith,
    events('data: {"choices":[{"delta":{"content":"hello"}}]}', 'data: [DONE]'),
  ],
  [
    'responses of OpenAI',
    'llm_a',
    respondWith,
    events('event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"hello"}'),
  ],
  ['messages of Anthropic', 'llm_b', messageWith, events(`event: content_block_delta\ndata: ${TEXT_DELTA}`)],
] as const

describe('an unmodified SDK that waits in a stream', () => {
  it.each(SDKS)('reads %s after the approval', async (_what, type, read, answer) => {
    const { world, governed } = await start(model(type), YES, answer)
    expect(await read(governed)).toBe('hello')
    expect(world.upstream.seen).toHaveLength(1)
  })

  it.each(SDKS)('raises the reason of a denial for %s', async (_what, type, read, answer) => {
    const { world, governed } = await start(model(type), NO, answer)
    await expect(read(governed)).rejects.toThrow('not today')
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toMatchObject([{ decision: 'DENY', status: 200 }])
  })
})

const MCP: Rules = {
  permissions: [
    ['mcp.tools.pay', 'require_approval'],
    ['mcp.*', 'allow'],
  ],
}

const server: Answer = (request, response) => {
  let body = ''
  request.on('data', (chunk) => (body += chunk))
  request.on('end', () => {
    const { id, method } = body === '' ? {} : JSON.parse(body)
    const info = {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 's', version: '1' },
    }
    const result = method === 'initialize' ? info : { content: [{ type: 'text', text: 'paid' }] }
    if (id === undefined) response.writeHead(request.method === 'GET' ? 405 : 202).end()
    else
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ jsonrpc: '2.0', id, result }))
  })
}

describe('an unmodified MCP client', () => {
  it.each([
    ['gets progress and the result', YES, 'paid'],
    ['gets progress and the reason', NO, 'not today'],
  ] as const)('%s', async (_what, outcome, text) => {
    const connectors: Rules['connectors'] = [
      { type: 'mcp', name: 'tools', domains: ['tools.example'], auth: { type: 'bearer' } },
    ]
    const { governed } = await start({ ...MCP, connectors }, outcome, server)
    const client = new Client({ name: 'c', version: '1' })
    await client.connect(
      new StreamableHTTPClientTransport(new URL('https://tools.example/mcp'), { fetch: governed }),
    )
    const seen: number[] = []
    const options = { onprogress: ({ progress }: { progress: number }) => void seen.push(progress) }
    const result = await client.callTool({ name: 'pay', arguments: {} }, undefined, options).then(
      (value) => JSON.stringify(value),
      (error: Error) => error.message,
    )
    expect(result).toContain(text)
    expect(seen.length).toBeGreaterThan(0)
    expect(seen).toEqual([...seen].sort((a, b) => a - b))
    await client.close()
  })

  it.each(['h1', 'h2'] as const)('can follow with another request over %s', async (over) => {
    const mcp = await startMcpWorld(MCP, server)
    open.push(mcp)
    holdWith(mcp.world, YES)
    const params = { name: 'pay', _meta: { progressToken: 1 } }
    const call = { jsonrpc: '2.0', id: 3, method: 'tools/call', params }
    for (let round = 0; round < 2; round++) {
      const { status, headers, body } = await mcp.post(call, { over })
      expect(status).toBe(200)
      expect(headers['content-type']).toBe('text/event-stream')
      expect(dataIn(body).at(-1)).toEqual({
        ...{ jsonrpc: '2.0', id: 3 },
        result: { content: [{ type: 'text', text: 'paid' }] },
      })
    }
    expect(mcp.world.records).toHaveLength(2)
  })
})
