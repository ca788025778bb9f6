import { describe, expect, it } from 'vitest'
import { killNames } from '../../../sidecar/pipeline/kill-names.ts'
import { expectRefused, JSON_BODY, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const ASK: TestExchangeInput = {
  method: 'POST',
  host: 'api.openai.com',
  target: '/v1/responses',
  headers: JSON_BODY,
  body: JSON.stringify({
    model: 'm',
    input: 'x',
    tools: [{ type: 'mcp', server_label: 'x', server_url: 'https://tools.example/mcp' }],
  }),
}
const PLAIN: TestExchangeInput = { ...ASK, body: JSON.stringify({ model: 'm', input: 'x' }) }

const RULES: Rules = {
  connectors: [
    {
      type: 'llm_a',
      name: 'team/models',
      auth: { type: 'bearer' },
      providerTools: { allow: ['provider_tool.mcp'] },
    },
    {
      type: 'mcp',
      name: 'team/tools',
      id: 'conn_tools',
      domains: ['tools.example'],
      auth: { type: 'bearer' },
    },
  ],
  permissions: [['llm_a.*', 'allow']],
}
const kill = (scope: string) => ({ scope, source: 'dashboard', reason: 'incident', since: '' })

describe('a kill switch for a Connector whose host the provider reaches', () => {
  it.each(['connector:team/tools', 'connector:tools', 'tools', 'connector:mcp'])(
    'refuses the request: %s',
    async (scope) => {
      const world = await start(RULES)
      world.state.kill = [kill(scope)]
      const { reply } = await world.send(ASK)
      expect(reply.status).toBe(403)
      expect(reply.text()).toContain('Kill switch active: incident')
      expectRefused(world)
      expect(world.records).toMatchObject([{ decision: 'DENY', reason: 'kill_switch' }])
    },
  )

  it('refuses it at the level monitor, too', async () => {
    const world = await start({ ...RULES, gateway: { enforcementLevel: 'monitor' } })
    world.state.kill = [kill('connector:team/tools')]
    expect((await world.send(ASK)).reply.status).toBe(403)
    expectRefused(world)
  })

  it('leaves requests that do not reach it', async () => {
    const world = await start(RULES)
    world.state.kill = [kill('connector:team/tools')]
    expect((await world.send(PLAIN)).reply.status).toBe(200)
  })

  it('refuses a held request that was approved before, and the card has the names of the Connector', async () => {
    const world = await start({ ...RULES, permissions: [['llm_a.*', 'require_approval']] })
    world.state.onHold = async () => {
      world.state.kill = [kill('connector:team/tools')]
      return { kind: 'approved', approvalId: 'apv_1', by: null }
    }
    expect((await world.send(ASK)).reply.text()).toContain('Kill switch active: incident')
    expectRefused(world)
    expect(world.holds).toMatchObject([{ reached_connectors: ['mcp', 'team/tools'] }])
  })

  it('finds the names of a request in progress, which the kill switch then aborts', async () => {
    const world = await start(RULES)
    const exchange = await world.send(ASK)
    expect(killNames(exchange)).toEqual(['llm_a', 'team/models', 'mcp', 'team/tools'])
    expect(killNames(await world.send(PLAIN))).toEqual(['llm_a', 'team/models'])
  })
})
