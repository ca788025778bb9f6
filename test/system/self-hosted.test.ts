import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'

let folder: string
let upstream: Recorder
let laptop: Laptop
let agent: TestAgent
let baseUrl: string

const GATEWAY = 'apiVersion: chaperone.dev/v1alpha1\nkind: Gateway\nmetadata: { name: local }\nspec: {}\n'
const PERMISSION = `apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: all }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: codehost, actionPattern: 'codehost.*', decision: allow }
    - { connectorType: generic, actionPattern: 'generic.*', decision: allow }
`

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'chaperone-self-hosted-'))
  const ca = createTestCa()
  writeFileSync(join(folder, 'ca.pem'), ca.cert)
  upstream = await startRecorder({ tls: ca.issue('localhost', '127.0.0.1') })
  baseUrl = `https://localhost:${upstream.port}`
  laptop = await startLaptop({
    database: 'worker',
    manifests: { 'rules.yaml': `${GATEWAY}---\n${PERMISSION}` },
    env: { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await upstream?.close()
  rmSync(folder, { recursive: true, force: true })
})
afterEach(async () => {
  const { body } = await laptop.api('GET', '/api/dashboard/connectors')
  for (const { id } of body['connectors'] as { id: string }[]) {
    await laptop.api('DELETE', `/api/dashboard/connectors?connector_id=${id}`)
  }
})

type Add = (connector: object) => Promise<{ status: number; body: Record<string, unknown> }>

const internal: Add = async (connector) => {
  const token = readFileSync(join(laptop.data, 'gateway.token'), 'utf8').trim()
  const answer = await fetch(`${laptop.ready.gateway_url}/internal/connectors/add`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(connector),
  })
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
}
const dashboard: Add = (connector) => laptop.api('POST', '/api/dashboard/connectors', connector)
const wizard: Add = (connector) =>
  laptop.api('POST', '/api/dashboard/gateway', {
    gateway: { name: 'local' },
    connectors: [
      { ...connector, accessRule: 'custom', customPatterns: [{ pattern: 'codehost.*', decision: 'allow' }] },
    ],
  })
let agents = 0
const setup: Add = (connector) =>
  laptop.api('POST', '/api/dashboard/setup', {
    agent: { name: `set-up-${++agents}`, runtime: 'x', environment: 'test' },
    connectors: [
      { ...connector, accessRule: 'custom', customPatterns: [{ pattern: 'codehost.*', decision: 'allow' }] },
    ],
  })

let hosts = 0
const WAYS = [
  ['/internal/connectors/add', internal],
  ['/api/dashboard/connectors', dashboard],
  ['the wizard', wizard],
  ['the quick setup', setup],
] as const

/** What the upstream was sent last. */
function credential(): string | undefined {
  const headers = upstream.seen.at(-1)?.rawHeaders ?? []
  return headers[headers.findIndex((name) => name.toLowerCase() === 'authorization') + 1]
}

/** The answer once the gateway knows a connector for this host. */
async function ask(host: string) {
  return eventually(`an answer for ${host}`, async () => {
    const answer = await agent.json({ method: 'GET', host, target: '/repos/acme/site' }).catch(() => null)
    return answer?.status === 403 ? null : answer
  })
}

describe.each(WAYS)('%s', (_way, add) => {
  test('a self-hosted instance on a private address is reached only where that is allowed', async () => {
    const host = `git-${++hosts}.corp.example`
    const domains = [host]
    const connector = { type: 'codehost', token: 'self-hosted-token', base_url: baseUrl, domains }
    const refused = await add(connector)
    expect(refused.status, JSON.stringify(refused.body)).toBe(200)
    const seen = upstream.seen.length
    expect(await ask(host)).toMatchObject({
      status: 502,
      body: { error: 'upstream address refused' },
    })
    expect(upstream.seen).toHaveLength(seen)
    expect((await add({ ...connector, allow_private_addresses: true })).status).toBe(200)
    await eventually('a request that reaches it', async () =>
      (await ask(host)).status === 200 ? true : null,
    )
    expect(upstream.seen.at(-1)).toMatchObject({ method: 'GET', target: '/repos/acme/site' })
    expect(credential()).toBe('token self-hosted-token')
    // A new token does not take it back unasked.
    expect((await add({ ...connector, token: 'rotated' })).status).toBe(200)
    await eventually('the new token', async () => {
      expect((await ask(host)).status).toBe(200)
      return credential() === 'token rotated' ? true : null
    })
    const { body } = await laptop.api('GET', '/api/dashboard/connectors')
    expect(body['connectors']).toMatchObject([{ allow_private_addresses: true, base_url: baseUrl }])
  })
})

test('all domains go to the base host, and another connector may stand for it under other names', async () => {
  const common = { token: 't1', base_url: baseUrl, allow_private_addresses: true }
  const first = { ...common, type: 'codehost', domains: ['git.one.example', 'code.one.example'] }
  expect((await dashboard(first)).status).toBe(200)
  const second = { ...common, type: 'generic', token: 't2', domains: ['raw.two.example'] }
  expect(await dashboard(second)).toMatchObject({ status: 200 })
  for (const [host, token] of [
    ['git.one.example', 'token t1'],
    ['code.one.example', 'token t1'],
    ['raw.two.example', 'Bearer t2'],
  ] as const) {
    await eventually(host, async () => ((await ask(host)).status === 200 ? true : null))
    expect(credential()).toBe(token)
  }
  const clash = await dashboard({ ...common, type: 'generic', token: 't3', domains: ['code.one.example'] })
  expect(clash).toMatchObject({ status: 409 })
  const seen = upstream.seen.length
  const shared = await agent
    .json({ method: 'GET', host: 'localhost', target: '/repos/acme/site' })
    .catch((error: Error) => error)
  expect(String(shared instanceof Error ? shared : JSON.stringify(shared))).toMatch(/403|No connector owns/)
  expect(upstream.seen).toHaveLength(seen)
})
