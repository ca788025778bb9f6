import { expect, test } from 'vitest'
import { start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import type { Rules } from './test-world.ts'

const MCP: Rules = {
  connectors: [
    { type: 'mcp', name: 'tools', domains: ['tools.example', 'second.example'], auth: { type: 'bearer' } },
  ],
  permissions: [['mcp.*', 'require_approval']],
}
const CODEHOST: Rules = {
  connectors: [{ domains: ['github.acme.example', 'github.test.example'] }],
  permissions: [['codehost.*', 'require_approval']],
}

function call(over: TestExchangeInput = {}): TestExchangeInput {
  const params = { name: 'deploy', arguments: { site: 'acme' } }
  return {
    ...{ method: 'POST', host: 'tools.example', target: '/billing/mcp' },
    headers: ['Content-Type', 'application/json'],
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    ...over,
  }
}
const merge = (over: TestExchangeInput = {}): TestExchangeInput => ({
  ...{ method: 'PUT', host: 'github.acme.example', target: '/repos/acme/site/pulls/7/merge' },
  ...over,
})

/** Reports whether both requests are held with all facts by which the control plane finds a grant, except the parameters. */
async function haveFactsInCommon(rules: Rules, requests: readonly TestExchangeInput[], between?: Rules) {
  const world = await start(rules)
  for (const request of requests) {
    await world.send(request)
    if (between !== undefined) world.apply(between)
  }
  const facts = world.holds.map(({ action_type, target, connector_name, held_by }) => {
    expect(held_by).toBeDefined()
    return JSON.stringify({ action_type, target, connector_name, held_by })
  })
  expect(facts).toHaveLength(2)
  return facts[0] === facts[1]
}

test.each<[string, Rules, readonly TestExchangeInput[]]>([
  [
    'another number of the same repository',
    CODEHOST,
    [merge(), merge({ target: '/repos/acme/site/pulls/8/merge' })],
  ],
  [
    'the repository in another case',
    CODEHOST,
    [merge(), merge({ target: '/repos/Acme/SITE/pulls/7/merge' })],
  ],
  ['the same call of a tool', MCP, [call(), call()]],
])('a grant covers %s', async (_, rules, requests) => {
  expect(await haveFactsInCommon(rules, requests)).toBe(true)
})

test.each<[string, Rules, readonly TestExchangeInput[]]>([
  ['the same tool of an MCP server on another path', MCP, [call(), call({ target: '/search/mcp' })]],
  ['the same tool of an MCP server on another host', MCP, [call(), call({ host: 'second.example' })]],
  ['the same repository on another host', CODEHOST, [merge(), merge({ host: 'github.test.example' })]],
])('a grant does not cover %s', async (_, rules, requests) => {
  expect(await haveFactsInCommon(rules, requests)).toBe(false)
})

test('a grant does not cover requests of a Connector that was created again with the same name', async () => {
  const again = { ...CODEHOST, connectors: [{ ...CODEHOST.connectors?.[0], id: 'con_created_again' }] }
  expect(await haveFactsInCommon(CODEHOST, [merge(), merge()], again)).toBe(false)
  expect(await haveFactsInCommon(CODEHOST, [merge(), merge()], CODEHOST)).toBe(true)
})
