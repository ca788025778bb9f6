import { expect, test } from 'vitest'
import type { Snapshot } from '../../../core/snapshot/snapshot.ts'
import { createOrderExecutor, type Order } from '../../../sidecar/control/execute/execute.ts'
import type { Exchange } from '../../../sidecar/pipeline/exchange.ts'
import { snapshotOf } from '../pipeline/test-world.ts'

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
  expect(await execute(ORDER)).toMatchObject({ ok: false, error: 'the execution order was already executed' })
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
