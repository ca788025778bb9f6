import { afterEach, describe, expect, it } from 'vitest'
import { findConnector } from '../../../core/connectors/registry.ts'
import { testExchange } from './test-exchange.ts'
import { startWorld, type World } from './test-world.ts'

const open: World[] = []
afterEach(async () => {
  for (const world of open.splice(0)) await world[Symbol.asyncDispose]()
})

describe('a request of the gateway itself', () => {
  it('cancels hosted work also when the request has no class', async () => {
    const world = await startWorld()
    open.push(world)
    const snapshot = world.ports.snapshot()
    const agent = snapshot?.agentsByName.get('builder')
    const connectorId = snapshot && findConnector(snapshot.hosts, 'api.github.com', 443)?.entry.id
    if (agent === undefined || !connectorId) throw new Error('the world has no agent or no connector')
    // The class of a GraphQL request follows from its body, and this body is none.
    const exchange = testExchange({ method: 'POST', target: '/graphql', body: '-', transport: 'system' })
    const system = { kind: 'cancel', agent, connectorId, scope: 'all' } as const
    await world.run(Object.assign(exchange, { system }))
    expect(exchange.reply.status).toBe(200)
    expect(world.records).toMatchObject([{ decision: 'ALLOW', note: 'system', action_type: null }])
  })
})
