import { afterEach, describe, expect, it } from 'vitest'
import type { Answer } from '../../support/recorder.ts'
import type { TestExchangeInput } from '../pipeline/test-exchange.ts'
import type { Rules } from '../pipeline/test-world.ts'
import { endWorlds, events, json, start } from './hosted-work-world.ts'

afterEach(endWorlds)

const rules: Rules = {
  agents: [{ id: 'agent_a', name: 'a' }],
  connectors: [{ type: 'mcp', name: 'tools', domains: ['mcp.example'] }],
  permissions: [['mcp.*', 'allow']],
}

const HEADERS = [
  ...['Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream'],
  ...['Mcp-Session-Id', 's1', 'MCP-Protocol-Version', '2025-11-25'],
]

const sent = (method: string, params: object): TestExchangeInput => ({
  ...{ method: 'POST', host: 'mcp.example', target: '/v1/mcp', headers: HEADERS },
  credentials: { kind: 'port', agent: 'a' },
  body: JSON.stringify({ jsonrpc: '2.0', id: 7, method, params }),
})
const CALL = { name: 'build', arguments: { x: 1 }, task: { ttl: 60_000 } }
const STARTED = { jsonrpc: '2.0', id: 7, result: { task: { taskId: 'task-1', status: 'working' } } }
const result = (value: object) => json({ jsonrpc: '2.0', id: 1, result: value })

async function started(answer: Answer, call: object = CALL) {
  const { world, stop, settled } = await start({ rules })
  world.upstream.answerWith(answer)
  expect((await world.send(sent('tools/call', call))).reply.status).toBe(200)
  return { world, stop, settled }
}

describe('a task that an agent started at an MCP server', () => {
  it.each([
    ['JSON', json(STARTED)],
    ['a stream', events(STARTED, false)],
  ])('is cancelled by a kill switch, in its session: a response as %s', async (_what, answer) => {
    const { world, stop, settled } = await started(answer)
    expect(world.hostedWork.size).toBe(1)
    world.upstream.answerWith(result({ taskId: 'task-1', status: 'cancelled' }))
    stop()
    expect((await settled()).results).toMatchObject([{ kind: 'task', id: 'task-1', outcome: 'cancelled' }])
    const cancel = world.upstream.seen.at(-1)
    expect(`${cancel?.method} ${cancel?.target}`).toBe('POST /v1/mcp')
    expect(JSON.parse(cancel?.body.toString() ?? '')).toEqual({
      ...{ jsonrpc: '2.0', id: 'cancel-task-1', method: 'tasks/cancel' },
      params: { taskId: 'task-1' },
    })
    expect(cancel?.header('mcp-session-id')).toBe('s1')
    expect(cancel?.header('mcp-protocol-version')).toBe('2025-11-25')
    expect(world.records.at(-1)).toMatchObject({ action_type: 'mcp.rpc.tasks_cancel', note: 'system' })
  })

  const REFUSED = { jsonrpc: '2.0', id: 1, error: { code: -32602, message: 'Task is terminal' } }
  it.each([
    ['JSON', json(REFUSED)],
    ['a stream', events(REFUSED, false)],
  ])('is listed where the server refuses, in %s', async (_what, answer) => {
    const { world, stop, settled } = await started(json(STARTED))
    world.upstream.answerWith(answer)
    stop()
    expect((await settled()).results).toMatchObject([
      { outcome: 'failed', status: 200, detail: 'The provider answered: Task is terminal.' },
    ])
  })

  it.each([
    ['tasks/cancel', result({}), 0],
    ['tasks/result', result({ content: [] }), 0],
    ['tasks/get', result({ taskId: 'task-1', status: 'completed' }), 0],
    ['tasks/get', result({ taskId: 'task-1', status: 'working' }), 1],
    ['tasks/cancel', json(REFUSED), 1],
  ])('is not known any more once it ended: %s', async (method, answer, size) => {
    const { world } = await started(json(STARTED))
    world.upstream.answerWith(answer)
    await world.send(sent(method, { taskId: 'task-1' }))
    expect(world.hostedWork.size).toBe(size)
  })

  it('does not exist where the call has no task, or the server answers at once', async () => {
    const { task: _task, ...plain } = CALL
    const { world } = await started(result({ content: [] }), plain)
    expect(world.hostedWork.size).toBe(0)
    expect(world.hostedWork.unidentifiedCount).toBe(0)
  })
})
