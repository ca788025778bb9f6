import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { storedHeader } from '../../support/every-connector.ts'
import type { Answer } from '../../support/recorder.ts'
import { type ExecutionWorld, startExecutionWorld } from './execution-world.ts'
import type { TestAgent } from './world.ts'

let here: ExecutionWorld
let agent: TestAgent
const called: unknown[] = []

beforeAll(async () => {
  here = await startExecutionWorld()
  agent = await here.world.agent()
  await here.applied()
})
afterAll(() => here?.[Symbol.asyncDispose]())
beforeEach(() => {
  called.length = 0
})

/** The official server, without sessions: each request has a server of its own. */
function official(enableJsonResponse: boolean): Answer {
  return (request, response, seen) => {
    request.on('end', async () => {
      const server = new McpServer({ name: 'reference', version: '1.0.0' })
      server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, async (given) => {
        called.push(given)
        return { content: [{ type: 'text', text: String(given.a + given.b) }] }
      })
      const transport = new StreamableHTTPServerTransport({ enableJsonResponse })
      await server.connect(transport as Parameters<McpServer['connect']>[0])
      await transport.handleRequest(request, response, JSON.parse(seen.body.toString()))
    })
  }
}

const CALL = { type: 'mcp.tools.add', parameters: { path: '/mcp', arguments: { a: 2, b: 3 } } }
const ANSWER = { jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: '5' }] } }

test.each([
  ['JSON', true],
  ['a stream of events', false],
])(
  'a tool of an official server that answers with %s is called once, and its answer is the result',
  async (_how, isJson) => {
    here.upstream.answerWith(official(isJson))
    const action = await here.allowed(agent, CALL)
    const answer = await here.execute(agent, action)
    expect(answer.body, answer.text).toEqual({
      executed: true,
      action_request_id: action.id,
      gateway_response: { status: 200, result: ANSWER },
    })
    expect(called).toEqual([{ a: 2, b: 3 }])
    const [name, value] = storedHeader('mcp')
    expect(here.upstream.seen.at(-1)?.header(name)).toBe(value)
    expect((await here.execute(agent, action)).status).toBe(409)
    expect(called).toHaveLength(1)
  },
)

test('what its server refuses is the result, too: the upstream has answered', async () => {
  here.upstream.answerWith(official(false))
  const action = await here.allowed(agent, { ...CALL, parameters: { path: '/mcp', arguments: { a: 'two' } } })
  const { body } = await here.execute(agent, action)
  expect(body).toMatchObject({
    executed: true,
    gateway_response: { status: 200, result: { jsonrpc: '2.0', id: 1 } },
  })
  expect(JSON.stringify(body)).toMatch(/Invalid arguments|validation/i)
  expect(called).toEqual([])
})

test('its tools are listed', async () => {
  here.upstream.answerWith(official(false))
  const action = await here.allowed(agent, { type: 'mcp.tools.list', parameters: { path: '/mcp' } })
  const { body, text } = await here.execute(agent, action)
  expect(body, text).toMatchObject({ gateway_response: { result: { result: { tools: [{ name: 'add' }] } } } })
})
