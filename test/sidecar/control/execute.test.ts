import { expect, test } from 'vitest'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { createOrderExecutor, type Order } from '../../../sidecar/control/execute/execute.ts'
import { credentialTestExchange } from '../../../sidecar/control/execute/execute-exchange.ts'
import { createReplyCapture } from '../../../sidecar/control/execute/execute-reply.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import { snapshotOf, startWorld } from '../pipeline/test-world.ts'

const ORDER: Order = {
  type: 'execute',
  order_id: 'ord_1',
  action_request_id: 'act_1',
  agent: 'newcomer',
  action_spec: { type: 'codehost.issue.create', resource: { provider: 'codehost', target: 'a/b' } },
}

test('an order that arrives before the snapshot with its agent waits for it, and is executed once', async () => {
  let current: Snapshot = snapshotOf({}, 1, 1)
  const known: boolean[] = []
  const handle = async ({ credentials, reply }: Exchange) => {
    if (credentials.kind === 'port') known.push(current.agentsByName.has(credentials.agent))
    reply.send(200, [], '{}')
  }
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const execute = createOrderExecutor({
    ports: { snapshot: () => current, clock, newId: () => 'req_1' },
    handle,
  })
  const result = execute(ORDER)
  setImmediate(() => {
    expect(known).toEqual([])
    current = snapshotOf({ agents: [{ id: 'agent_2', name: 'newcomer' }] }, 1, 2)
  })
  expect(await result).toMatchObject({ order_id: 'ord_1' })
  expect(known).toEqual([true])
  expect(await execute(ORDER)).toMatchObject({
    ok: false,
    error: 'the gateway already executed this action and does not execute it again; submit a new action',
  })
  expect(known).toHaveLength(1)
})

test('an order stays refused after many others: only the oldest ids are evicted', async () => {
  const executed: string[] = []
  const known = snapshotOf({ agents: [{ id: 'agent_2', name: 'newcomer' }] }, 1, 1)
  const clock = { nowMs: () => Date.now(), monotonicMs: () => performance.now() }
  const execute = createOrderExecutor({
    ports: { snapshot: () => known, clock, newId: () => 'req_1' },
    handle: async ({ id, reply }) => {
      executed.push(id)
      reply.send(200, [], '{}')
    },
  })
  for (let n = 0; n <= 10_000; n += 1) await execute({ ...ORDER, order_id: `ord_${n}` })
  expect(executed).toHaveLength(10_001)
  expect(await execute({ ...ORDER, order_id: 'ord_9999' })).toMatchObject({ ok: false })
  expect(executed).toHaveLength(10_001)
})

test.each([
  ['full', 'denied: Permission "'],
  ['brief', 'denied: The request was refused. Do not retry; ask the owner of this agent. ('],
] as const)(
  'with refusalDetail: %s, a refused order has the message that the agent would receive',
  async (refusalDetail, message) => {
    const rules = { permissions: [['codehost.issue.*', 'deny']], gateway: { refusalDetail } } as const
    await using world = await startWorld({ ...rules, agents: [{ id: 'agent_2', name: 'newcomer' }] })
    const execute = createOrderExecutor({ ports: world.ports, handle: world.run })
    const { error } = await execute(ORDER)
    expect(error?.slice(0, message.length)).toBe(message)
    if (refusalDetail === 'brief') expect(error).not.toContain('codehost.issue')
    expect(world.records).toHaveLength(1)
    expect(world.upstream.seen).toHaveLength(0)
  },
)

const TEST_ORDER: Order = {
  ...ORDER,
  agent: '',
  action_spec: { type: 'codehost.user.get_self', resource: { provider: 'codehost' }, parameters: {} },
  credential_test: 'conn_0',
}
const NO_TEST = 'is not the read that tests a credential of this connector type'

test.each<[string, Partial<Order['action_spec']>, string]>([
  ['a write', { type: 'codehost.repo.delete', resource: { provider: 'codehost', target: 'a/b' } }, NO_TEST],
  ['another read', { type: 'codehost.user.list' }, NO_TEST],
  ['the read with parameters', { parameters: { per_page: 1 } }, NO_TEST],
  ['the read of a resource', { resource: { provider: 'codehost', target: 'a/b' } }, NO_TEST],
  ['the read of another type of connector', { type: 'chat.auth.test' }, 'no connector for chat.auth.test'],
])('a test of a credential is refused for %s, and nothing is sent', async (_, spec, error) => {
  await using world = await startWorld({ permissions: [['codehost.*', 'allow']] })
  const execute = createOrderExecutor({ ports: world.ports, handle: world.run })
  const order = { ...TEST_ORDER, action_spec: { ...TEST_ORDER.action_spec, ...spec } }
  expect(await execute(order)).toMatchObject({
    ...{ ok: false, status: null },
    error: expect.stringContaining(error),
  })
  expect(world.upstream.seen).toHaveLength(0)
})

test('a test of a credential sends the read of the connector type', async () => {
  await using world = await startWorld()
  const execute = createOrderExecutor({ ports: world.ports, handle: world.run })
  expect(await execute(TEST_ORDER)).toMatchObject({ ok: true, status: 200 })
  expect(world.upstream.seen.map(({ method, target }) => `${method} ${target}`)).toEqual(['GET /user'])
})

test.each([
  ['DELETE', '/repos/a/b', 503, 0],
  ['GET', '/user', 200, 1],
])('the pipeline answers a test of a credential by %s %s with %i', async (method, target, status, sent) => {
  await using world = await startWorld()
  const { reply, read } = createReplyCapture()
  const request = { method, host: 'api.github.com', target, headers: [] }
  const parts = {
    request,
    scheme: 'https',
    actionType: 'codehost.user.get_self',
    ports: world.ports,
    reply,
  } as const
  await world.run(credentialTestExchange('conn_0', parts))
  expect(read().status).toBe(status)
  expect(world.upstream.seen).toHaveLength(sent)
})
