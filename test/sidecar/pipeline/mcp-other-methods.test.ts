import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import { type McpWorld, startMcpWorld } from './mcp-world.ts'

const call = (tool: string) => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name: tool, arguments: {} },
})

let mcp: McpWorld
beforeAll(async () => {
  mcp = await startMcpWorld(
    {
      permissions: [
        ['mcp.*', 'allow'],
        ['mcp.tools.delete_repo', 'deny'],
      ],
    },
    replyJson({ jsonrpc: '2.0', id: 1, result: {} }),
  )
})
afterAll(() => mcp[Symbol.asyncDispose]())

describe('a call in the body of another method than POST, for servers that ignore the method', () => {
  it.each([
    ['PUT', 'h1'],
    ['PATCH', 'h1'],
    ['DELETE', 'h1'],
    ['PUT', 'h2'],
    ['DELETE', 'h2'],
  ] as const)('%s over %s: a denied tool is denied, another passes', async (method, over) => {
    const before = mcp.world.upstream.seen.length
    const headers = { 'mcp-session-id': 's' }
    const denied = await mcp.post(call('delete_repo'), { method, over, headers })
    expect(denied.body).toContain('denies mcp.tools.delete_repo')
    expect(mcp.world.records.at(-1)).toMatchObject({ decision: 'DENY', method })
    expect(mcp.world.upstream.seen.length).toBe(before)
    expect((await mcp.post(call('list_repos'), { method, over, headers })).status).toBe(200)
    expect(mcp.world.upstream.seen.length).toBe(before + 1)
  })

  it.each(['PUT', 'DELETE'] as const)('%s as text/plain: a denied tool is denied, too', async (method) => {
    const before = mcp.world.upstream.seen.length
    const headers = { 'content-type': 'text/plain' }
    const denied = await mcp.post(call('delete_repo'), { method, headers })
    expect(denied.body).toContain('denies mcp.tools.delete_repo')
    expect(mcp.world.upstream.seen.length).toBe(before)
  })
})
