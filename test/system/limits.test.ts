import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { size } from '../support/proof.ts'
import { requestBytes, sendRaw } from '../support/raw-http.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  vendors = await startVendors()
  const permission =
    '---\napiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: { name: all-tools }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n    - { connectorType: mcp, actionPattern: mcp.tools.*, decision: allow }\n'
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'vendors.yaml': vendors.manifests + permission },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await vendors?.recorder.close()
})

const CHAT = requestBytes(
  'POST',
  '/v1/chat/completions',
  [
    ['Host', 'api.openai.com'],
    ['Content-Type', 'application/json'],
  ],
  '{}',
)

test('the 121st request within a minute is 429 with a Retry-After, and the upstream sees 120', async () => {
  const socket = await agent.tunnel('api.openai.com')
  const before = vendors.recorder.seen.length
  for (let i = 0; i < 120; i += 1) expect((await sendRaw(socket, CHAT)).status).toBe(200)
  const refused = await sendRaw(socket, CHAT)
  expect(refused.status).toBe(429)
  const body = JSON.parse(refused.body.toString()) as Record<string, unknown>
  expect(body).toMatchObject({ error: 'rate limit exceeded' })
  const retryAfter = Number(refused.headers.get('retry-after'))
  expect(retryAfter).toBeGreaterThanOrEqual(1)
  expect(retryAfter).toBeLessThanOrEqual(60)
  expect(body['retry_after']).toBe(retryAfter)
  expect(vendors.recorder.seen.length).toBe(before + 120)
  const metrics = await (await fetch(`${laptop.ready.gateway_url}/metrics`)).text()
  expect(metrics).toContain('svc_rate_limit_hits_total{agent="dev"} 1\n')
  socket.destroy()
})

/** More than the series that are allowed; the guarantee is stated with 10,000. */
const NAMES = size(2_000, 10_000)

test(`${NAMES} tool names leave /metrics under 1,000 series, with the rest under other`, async () => {
  const path = `${laptop.manifests}/vendors.yaml`
  const raised = readFileSync(path, 'utf8').replace(
    'metadata: { name: local }\nspec: {}',
    'metadata: { name: local }\nspec: { rateLimit: { requestsPerMinute: 1000000 } }',
  )
  laptop.writeManifest('vendors.yaml', raised)
  const socket = await agent.tunnel('mcp.tools.example')
  const call = (name: string) =>
    requestBytes(
      'POST',
      '/mcp',
      [
        ['Host', 'mcp.tools.example'],
        ['Content-Type', 'application/json'],
        ['Accept', 'application/json'],
      ],
      JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: {} } }),
    )
  for (let done = 0; done < NAMES; ) {
    const answer = await sendRaw(socket, call(`read_thing_${done}`))
    if (answer.status === 200) done += 1
    else await new Promise((resolve) => setTimeout(resolve, 50))
  }
  socket.destroy()
  const text = await (await fetch(`${laptop.ready.gateway_url}/metrics`)).text()
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  expect(series.length).toBeLessThan(1_000)
  expect(text).toMatch(/action_type="[^"]*other"/)
}, 120_000)
