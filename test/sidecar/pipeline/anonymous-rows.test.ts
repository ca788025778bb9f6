import { expect, test } from 'vitest'
import { start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { SECRET } from './test-world.ts'

const HOST = 'api.anthropic.com'
const OWN = ['x-api-key', 'agents-own', 'authorization', 'Bearer agents-own', 'cookie', 'a=agents-own']

async function sent(input: TestExchangeInput) {
  const auth = { type: 'header', header: 'x-api-key' } as const
  const world = await start({
    permissions: [['llm_b.*', 'allow']],
    connectors: [{ type: 'llm_b', domains: [HOST], auth }],
  })
  const { reply } = await world.send({ host: HOST, headers: OWN, ...input })
  expect(reply.status).toBe(200)
  expect(world.records).toHaveLength(1)
  const [seen] = world.upstream.seen
  expect(JSON.stringify(seen)).not.toContain('agents-own')
  return JSON.stringify(seen).includes(SECRET)
}

const JSON_POST = { method: 'POST', headers: [...OWN, 'Content-Type', 'application/json'], body: '{}' }

test.each<[string, TestExchangeInput]>([
  ['events', { ...JSON_POST, target: '/api/event_logging/v2/batch' }],
  ['events under the older address', { ...JSON_POST, target: '/api/event_logging/batch' }],
  ['feature flags', { ...JSON_POST, target: '/api/eval/sdk-1' }],
  ['the registry of MCP servers', { method: 'GET', target: '/mcp-registry/v0/servers?limit=100' }],
  ['a probe', { method: 'HEAD', target: '/' }],
])('%s: no credential is sent, neither the stored one nor that of the agent', async (_what, input) => {
  expect(await sent(input)).toBe(false)
})

test.each<[string, TestExchangeInput]>([
  ['a model call', { ...JSON_POST, target: '/v1/messages' }],
  ['settings', { method: 'GET', target: '/api/claude_code/settings' }],
  ['a request without a name', { method: 'GET', target: '/api/other' }],
])('%s: the stored credential is sent', async (_what, input) => {
  expect(await sent(input)).toBe(true)
})
