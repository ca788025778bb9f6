import { afterEach, describe, expect, it } from 'vitest'
import { replyJson } from '../../support/recorder.ts'
import { type McpWorld, startMcpWorld } from './mcp-world.ts'

const open: McpWorld[] = []
afterEach(async () => {
  for (const each of open.splice(0)) await each[Symbol.asyncDispose]()
})

const TOOLS = [
  { name: 'delete_*', effects: ['delete'] },
  { name: 'delete_user', effects: ['access_grant'] },
  { name: 'größe', effects: ['publish'] },
] as const

async function start(pattern: string): Promise<McpWorld> {
  const connectors = [
    { mcp: { filterTools: false, tools: TOOLS.map((one) => ({ ...one, effects: [...one.effects] })) } },
  ]
  const permissions = [
    ['mcp.*', 'allow'],
    ['mcp.rpc.unknown', 'allow'],
    [pattern, 'deny', '*', { connector_type: 'mcp' }],
  ] as const
  const started = await startMcpWorld(
    { connectors, permissions },
    replyJson({ jsonrpc: '2.0', id: 1, result: {} }),
  )
  open.push(started)
  return started
}

const call = (name: string) => ({
  ...{ jsonrpc: '2.0', id: 1, method: 'tools/call' },
  params: { name, arguments: {} },
})

describe('effect classes that a Connector declares for tools of an MCP server', () => {
  const denied: readonly (readonly [string, unknown])[] = [
    ['the call of a tool with the prefix', call('delete_repo')],
    ['the same in capitals', call('DELETE_Repo')],
    ['a call in a batch', [call('get_repo'), call('delete_user')]],
    ['a call that only a lenient server executes', { ...call('delete_repo'), jsonrpc: '1.0' }],
    ['a call in a nested batch', [[call('delete_repo')]]],
  ]
  it.each(denied)('deny %s by effect:delete', async (_, message) => {
    const { world, post } = await start('effect:delete')
    expect((await post(message)).body).toContain('error')
    expect(world.upstream.seen).toEqual([])
    expect(world.records).toHaveLength(1)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', why: { pattern: 'effect:delete' } })
    expect(world.records[0]?.effects).toContain('delete')
  })

  it('are those of all entries that match, and none for other tools', async () => {
    const { world, post } = await start('effect:money_out')
    for (const name of ['delete_user', 'größe', 'get_repo']) expect((await post(call(name))).status).toBe(200)
    expect(world.records.map(({ effects }) => effects ?? null)).toEqual([
      ['access_grant', 'delete'],
      ['publish'],
      null,
    ])
  })
})
