import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keyedAgent, type TestAgent } from '../support/agent.ts'
import { bundledProgram } from '../support/bundled-program.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { end, type Served, serve } from '../support/processes.ts'
import { requestBytes, sendRaw } from '../support/raw-http.ts'
import { openTunnel } from '../support/tunnel.ts'
import { startVendors, type Vendors } from '../support/vendors.ts'

let vendors: Vendors
let laptop: Laptop
let second: Served
let agent: TestAgent
const root = mkdtempSync(join(tmpdir(), 'chaperone-second-'))

beforeAll(async () => {
  vendors = await startVendors()
  laptop = await startLaptop({ database: 'worker', manifests: { 'vendors.yaml': vendors.manifests } })
  agent = await keyedAgent(laptop, 'twin')
  second = await serve(await bundledProgram('sidecar'), {
    PORT: '0',
    CONTROL_PLANE_URL: laptop.ready.base_url,
    GATEWAY_TOKEN_FILE: join(laptop.data, 'keys', 'enrol.token'),
    INTERNAL_TOKEN_FILE: join(root, 'internal.token'),
    DATA_DIR: join(root, 'gateway'),
    CA_CERT_FILE: join(laptop.data, 'ca.crt'),
    CA_KEY_FILE: join(laptop.data, 'keys', 'ca.key'),
    CA_BUNDLE_FILE: join(root, 'ca-bundle.crt'),
    LOG_LEVEL: 'warn',
  })
})
afterAll(async () => {
  if (second !== undefined) await end(second.child)
  await laptop?.stop()
  await vendors?.recorder.close()
  rmSync(root, { recursive: true, force: true })
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

test('two gateway processes of one agent admit 120 requests a minute together', async () => {
  await eventually('both processes are connected', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/gateway')
    const [gateway] = body['gateways'] as { live: { processes: number } | null }[]
    return gateway?.live?.processes === 2 ? true : null
  })
  const sockets = [
    await agent.tunnel('api.openai.com'),
    await openTunnel({ ...agent.target, port: second.port }, 'api.openai.com'),
  ] as const
  const statuses: number[] = []
  // One may still hold slots while the other has none: it is over when both are refused, again and again.
  for (let n = 0; n < 400 && statuses.slice(-6).filter((status) => status === 429).length < 6; n += 1)
    statuses.push((await sendRaw(sockets[n % 2 === 0 ? 0 : 1], CHAT)).status)
  expect(new Set(statuses)).toEqual(new Set([200, 429]))
  const passed = statuses.filter((status) => status === 200).length
  expect(vendors.recorder.seen.filter(({ target }) => target === '/v1/chat/completions')).toHaveLength(passed)
  await eventually('120 requests were admitted', async () => {
    const { body } = await laptop.api('GET', '/api/dashboard/traffic?agent=twin&limit=500')
    const records = body['traffic'] as { status: number | null; host: string | null }[]
    // A request to a host without connector asked whether the agent is known: it takes nothing of the limit.
    const admitted = records.filter(({ status, host }) => host === 'api.openai.com' && status !== 429).length
    expect(admitted).toBeLessThanOrEqual(120)
    return records.length >= statuses.length && admitted === 120 ? true : null
  })
  for (const socket of sockets) socket.destroy()
})
