import { afterEach, describe, expect, it } from 'vitest'
import type { Answer } from '../../support/recorder.ts'
import type { TestExchangeInput } from '../pipeline/test-exchange.ts'
import type { Rules } from '../pipeline/test-world.ts'
import { endWorlds, events, json, start } from './hosted-work-world.ts'

afterEach(endWorlds)

const rules: Rules = {
  agents: [
    { id: 'agent_a', name: 'a' },
    { id: 'agent_b', name: 'b' },
  ],
  connectors: [{ type: 'mcp', name: 'tools', domains: ['mcp.example'] }],
  permissions: [['mcp.*', 'allow']],
}

const HEADERS = [
  ...['Content-Type', 'application/json', 'Accept', 'application/json, text/event-stream'],
  ...['Mcp-Session-Id', 's1', 'MCP-Protocol-Version', '2025-11-25'],
]

const sent = (
  method: string,
  params: object,
  { agent = 'a', id = 7 as number | null } = {},
): TestExchangeInput => ({
  ...{ method: 'POST', host: 'mcp.example', target: '/v1/mcp', headers: HEADERS },
  credentials: { kind: 'port', agent },
  body: JSON.stringify({ jsonrpc: '2.0', ...(id === null ? {} : { id }), method, params }),
})
const CALL = { name: 'build', arguments: { x: 1 }, task: { ttl: 60_000 } }
const STARTED = { jsonrpc: '2.0', id: 7, result: { task: { taskId: 'task-1', status: 'working' } } }
const result = (value: object) => json({ jsonrpc: '2.0', id: 1, result: value })

const taskOf = (taskId: string) => result({ task: { taskId, status: 'working' } })

/** Answers 202 without a body, as servers answer notifications. */
const ACCEPTED: Answer = (_request, response) => {
  response.writeHead(202)
  response.end()
}

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

  it.each([
    ['jobs/T1', 'jobs/T1'],
    ['a b', 'a b'],
    ['../x?y#z', '../x?y#z'],
    ['{id}', '{id}'],
    ['a"b\\c', 'a"b\\c'],
    ['é😀', 'é😀'],
    ['\u001b[31m\n', '\ufffd[31m\ufffd'],
    ['x'.repeat(256), 'x'.repeat(256)],
  ])('is cancelled with the id that the server chose: %j', async (taskId, shown) => {
    const { world, stop, settled } = await started(taskOf(taskId))
    world.upstream.answerWith(result({ taskId, status: 'cancelled' }))
    stop()
    expect((await settled()).results).toMatchObject([{ id: shown, outcome: 'cancelled' }])
    expect(JSON.parse(world.upstream.seen.at(-1)?.body.toString() ?? '')).toEqual({
      ...{ jsonrpc: '2.0', id: `cancel-${taskId}`, method: 'tasks/cancel', params: { taskId } },
    })
  })

  it('is no longer known by such an id once it ended', async () => {
    const { world } = await started(taskOf('jobs/T1'))
    world.upstream.answerWith(result({ taskId: 'jobs/T1', status: 'completed' }))
    await world.send(sent('tasks/get', { taskId: 'T1' }))
    expect(world.hostedWork.size).toBe(1)
    await world.send(sent('tasks/get', { taskId: 'jobs/T1' }))
    expect(world.hostedWork.size).toBe(0)
  })

  it.each(['', 'x'.repeat(257)])('is counted without an id that the registry keeps: %j', async (taskId) => {
    const { world } = await started(taskOf(taskId))
    expect([world.hostedWork.size, world.hostedWork.unidentifiedCount]).toEqual([0, 1])
  })

  it.each(['/v1/mcp?profile=x', '/v1/m%63p/?a=%2F&b'])('is cancelled at its address: %s', async (target) => {
    const { world, stop, settled } = await start({ rules })
    world.upstream.answerWith(json(STARTED))
    await world.send({ ...sent('tools/call', CALL), target })
    world.upstream.answerWith(result({ taskId: 'task-1', status: 'cancelled' }))
    stop()
    expect((await settled()).results).toMatchObject([{ outcome: 'cancelled' }])
    expect(world.upstream.seen.map((seen) => seen.target)).toEqual([target, target])
  })

  const PROGRESS = { jsonrpc: '2.0', method: 'notifications/progress', params: { progress: 1 } }
  const RESULT = { jsonrpc: '2.0', id: 1, result: { content: [] } }
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
    ['a cancellation', 'tasks/cancel', result({ taskId: 'task-1', status: 'cancelled' }), 0],
    ['a cancellation in progress', 'tasks/cancel', result({ taskId: 'task-1', status: 'working' }), 1],
    ['a cancellation without a status', 'tasks/cancel', result({}), 1],
    ['a refused cancellation', 'tasks/cancel', json(REFUSED), 1],
    ['an empty answer to a cancellation', 'tasks/cancel', ACCEPTED, 1],
    ['the result', 'tasks/result', result({ content: [] }), 0],
    ['the result in a stream', 'tasks/result', events(RESULT, false), 0],
    ['a stream that ends before the result', 'tasks/result', events(PROGRESS, false), 1],
    ['a refused read of the result', 'tasks/result', json(REFUSED), 1],
    ['a refused read of the result in a stream', 'tasks/result', events(REFUSED, false), 1],
    ['an empty answer to a read of the result', 'tasks/result', ACCEPTED, 1],
    ['a result that is only accepted', 'tasks/result', json(RESULT, 202), 1],
    ['a completed task', 'tasks/get', result({ taskId: 'task-1', status: 'completed' }), 0],
    ['a task in progress', 'tasks/get', result({ taskId: 'task-1', status: 'working' }), 1],
  ])('is known until a response shows its end: %s', async (_what, method, answer, size) => {
    const { world } = await started(json(STARTED))
    world.upstream.answerWith(answer)
    await world.send(sent(method, { taskId: 'task-1' }))
    expect(world.hostedWork.size).toBe(size)
  })

  it.each(['tasks/cancel', 'tasks/result'])('is known after a notification %s', async (method) => {
    const { world } = await started(json(STARTED))
    world.upstream.answerWith(ACCEPTED)
    await world.send(sent(method, { taskId: 'task-1' }, { id: null }))
    expect(world.hostedWork.size).toBe(1)
  })

  it('is known whatever another agent does that names its id', async () => {
    const { world, stop, settled } = await started(json(STARTED))
    world.upstream.answerWith(result({ taskId: 'task-1', status: 'cancelled', content: [] }))
    for (const method of ['tasks/cancel', 'tasks/result', 'tasks/get'])
      await world.send(sent(method, { taskId: 'task-1' }, { agent: 'b' }))
    world.upstream.answerWith(json(STARTED))
    await world.send(sent('tools/call', CALL, { agent: 'b' }))
    world.upstream.answerWith(result({ taskId: 'task-1', status: 'cancelled' }))
    stop({ scope: 'agent:a' })
    expect((await settled()).results).toMatchObject([{ agent: 'a', id: 'task-1', outcome: 'cancelled' }])
  })

  it('does not exist where the call has no task, or the server answers at once', async () => {
    const { task: _task, ...plain } = CALL
    const { world } = await started(result({ content: [] }), plain)
    expect(world.hostedWork.size).toBe(0)
    expect(world.hostedWork.unidentifiedCount).toBe(0)
  })
})
