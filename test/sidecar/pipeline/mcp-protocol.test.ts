import { afterEach, describe, expect, it } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import { waitFor } from '../../support/wait-for.ts'
import { type McpWorld, startMcpWorld } from './mcp-world.ts'
import type { Rules } from './test-world.ts'

const open: McpWorld[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})

async function start(rules: Rules = { permissions: [['mcp.*', 'allow']] }): Promise<McpWorld> {
  const started = await startMcpWorld(rules, replyJson({ jsonrpc: '2.0', id: 1, result: {} }))
  open.push(started)
  return started
}

const call = (name: string, given: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: given },
})
const VERSION = 'io.modelcontextprotocol/protocolVersion'

describe('header and body of an MCP request', () => {
  it.each([
    [
      'the revision',
      { 'mcp-protocol-version': '2025-06-18' },
      { method: 'ping', params: { _meta: { [VERSION]: '2026-07-28' } } },
    ],
    [
      'the resource',
      { 'mcp-name': 'file:///open' },
      { method: 'resources/read', params: { uri: 'file:///secret', name: 'file:///open' } },
    ],
    ['the task', { 'mcp-name': 'a' }, { method: 'tasks/cancel', params: { taskId: 'b', name: 'a' } }],
    ['the tool', { 'mcp-name': 'read' }, { method: 'tools/call', params: { name: 'delete' } }],
  ])('that name %s differently are refused, and nothing is forwarded', async (_what, headers, message) => {
    const { post, world } = await start()
    expect((await post({ jsonrpc: '2.0', id: 1, ...message }, { headers })).status).toBe(400)
    expect(world.upstream.seen).toEqual([])
    await waitFor(() => expect(world.records).toHaveLength(1))
  })

  it('that agree are forwarded in both revisions', async () => {
    const { post, world } = await start()
    const stateless = { method: 'tasks/get', params: { taskId: 't', _meta: { [VERSION]: '2026-07-28' } } }
    const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tasks/get', 'mcp-name': 't' }
    expect((await post({ jsonrpc: '2.0', id: 1, ...stateless }, { headers })).status).toBe(200)
    const session = { 'mcp-protocol-version': '2025-11-25', 'mcp-session-id': 's' }
    expect((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { headers: session })).status).toBe(200)
    expect(world.upstream.seen).toHaveLength(2)
  })
})

describe('a policy about the arguments of a tool', () => {
  const much = {
    name: 'large-payment',
    conditions: ['parameters.arguments.amount > 100'],
    decision: 'deny',
    reason: 'too much',
  }
  const document = { scope: { actions: ['mcp.tools.pay'] }, rules: [much] }
  const rules: Rules = { permissions: [['mcp.*', 'allow']], policies: [{ document }] }

  it('lets pass what it does not match and denies what it does, with the reason of the rule and its id', async () => {
    const { post, world } = await start(rules)
    expect(JSON.parse((await post(call('pay', { amount: 100 }))).body).error).toBeUndefined()
    const { error } = JSON.parse((await post(call('pay', { amount: 101 }))).body)
    expect(error.message).toContain('too much')
    expect(String(error.data.explain)).toMatch(/pol_.*dashboard/)
    expect(world.upstream.seen).toHaveLength(1)
  })

  it('denies a call without the argument, because its condition cannot be evaluated', async () => {
    const { post, world } = await start(rules)
    expect(JSON.parse((await post(call('pay', {}))).body).error).toBeDefined()
    expect(world.upstream.seen).toEqual([])
  })
})

describe('a message that cannot be read', () => {
  const MESSAGES = [{ jsonrpc: '2.0', id: 1, method: 'a b' }, { id: 1 }, 'text', 7, { jsonrpc: '1.0', id: 1 }]

  it.each(MESSAGES)('passes by its exact name, and by no wildcard: %j', async (message) => {
    const wildcards = await start({
      permissions: [
        ['mcp.rpc.*', 'allow'],
        ['mcp.*', 'allow'],
        ['*', 'allow'],
      ],
    })
    await wildcards.post(message)
    expect(wildcards.world.upstream.seen).toEqual([])
    expect(wildcards.world.records).toMatchObject([{ action_type: 'mcp.rpc.unknown', decision: 'DENY' }])
    const exact = await start({ permissions: [['mcp.rpc.unknown', 'allow']] })
    await exact.post(message)
    expect(exact.world.upstream.seen).toHaveLength(1)
    expect(exact.world.records).toMatchObject([{ action_type: 'mcp.rpc.unknown', decision: 'ALLOW' }])
  })
})

describe('DELETE', () => {
  const remove = async (world: McpWorld, ...headers: string[]) =>
    world.world.send({ method: 'DELETE', host: 'tools.example', target: '/mcp', headers })

  it('ends a session where it names one, and is an unknown deletion where it does not', async () => {
    const mcp = await start({ permissions: [['mcp.rpc.*', 'allow']] })
    expect((await remove(mcp, 'Mcp-Session-Id', 's')).reply.status).toBe(200)
    expect((await remove(mcp)).reply.status).toBe(403)
    expect(mcp.world.upstream.seen).toHaveLength(1)
    const types = mcp.world.records.map(({ action_type }) => action_type)
    expect(types).toEqual(['mcp.rpc.session_end', 'mcp.unmapped.delete'])
  })
})
