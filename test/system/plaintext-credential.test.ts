import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'

const TOKEN = 'credential-that-must-not-leave-in-clear'
const RULES = `apiVersion: chaperone.dev/v1alpha1
kind: Gateway
metadata: { name: local }
spec: {}
---
apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: all }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: codehost, actionPattern: 'codehost.*', decision: allow }
    - { connectorType: generic, actionPattern: 'generic.*', decision: allow }
    - { connectorType: mcp, actionPattern: 'mcp.*', decision: allow }
---
apiVersion: v1
kind: Secret
metadata: { name: s }
stringData: { token: ${TOKEN} }
`

let upstream: Recorder
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  upstream = await startRecorder()
  laptop = await startLaptop({ database: 'worker', manifests: { 'rules.yaml': RULES } })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await upstream?.close()
})
afterEach(async () => {
  for (const { id, source } of await connectors())
    if (source === 'api') await laptop.api('DELETE', `/api/dashboard/connectors?connector_id=${String(id)}`)
})

async function connectors(): Promise<ReadonlyArray<Record<string, unknown>>> {
  const { body } = await laptop.api('GET', '/api/dashboard/connectors')
  return body['connectors'] as Record<string, unknown>[]
}

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
const accessed = (connector: object) => ({ ...connector, accessRule: 'allow_all' })
let agents = 0
const WAYS: ReadonlyArray<readonly [string, Add, string]> = [
  ['/internal/connectors/add', internal, 'base_url'],
  [
    '/api/dashboard/connectors',
    (connector) => laptop.api('POST', '/api/dashboard/connectors', connector),
    'base_url',
  ],
  [
    'the wizard',
    (connector) =>
      laptop.api('POST', '/api/dashboard/gateway', {
        ...{ gateway: { name: 'local' }, connectors: [accessed(connector)] },
      }),
    'connectors.0.base_url',
  ],
  [
    'the quick setup',
    (connector) =>
      laptop.api('POST', '/api/dashboard/setup', {
        agent: { name: `set-up-${++agents}`, runtime: 'x', environment: 'test' },
        connectors: [accessed(connector)],
      }),
    'connectors.0.base_url',
  ],
]

let hosts = 0
/** Null while the gateway does not know the host. */
const ask = (host: string) => agent.json({ method: 'GET', host, target: '/x' }).catch(() => null)

describe.each(WAYS)('over %s', (_way, add, field) => {
  test.each(['http://', 'HTTP://'])(
    'a connector with a credential and a base URL that begins with %s is refused with the remedy',
    async (scheme) => {
      const host = `plain-${++hosts}.example`
      const base_url = `${scheme}127.0.0.1:${upstream.port}`
      const connector = {
        type: 'generic',
        token: TOKEN,
        domains: [host],
        base_url,
        allow_private_addresses: true,
      }
      const refused = await add(connector)
      expect(refused).toMatchObject({ status: 400, body: { error: 'Validation failed' } })
      expect(refused.body['details']).toContain(`${field}: is plain http`)
      expect(refused.body['details']).toContain('set allow_plaintext_credential: true')
      expect(await connectors()).toEqual([])
    },
  )

  test('it is sent where that is allowed, and a new token does not take the permission back', async () => {
    const host = `plain-${++hosts}.example`
    const base_url = `http://127.0.0.1:${upstream.port}`
    const connector = { type: 'generic', token: 'first', domains: [host], base_url }
    const flags = { allow_private_addresses: true, allow_plaintext_credential: true }
    expect(await add({ ...connector, ...flags })).toMatchObject({ status: 200 })
    await eventually('the first token', async () => ((await ask(host))?.status === 200 ? true : null))
    expect(upstream.seen.at(-1)?.header('authorization')).toBe('Bearer first')
    expect((await add({ ...connector, token: 'second' })).status).toBe(200)
    await eventually('the second token', async () => {
      expect((await ask(host))?.status).toBe(200)
      return upstream.seen.at(-1)?.header('authorization') === 'Bearer second' ? true : null
    })
    expect(await connectors()).toMatchObject([{ allow_plaintext_credential: true, warnings: [] }])
    expect((await add({ ...connector, allow_plaintext_credential: false })).status).toBe(400)
  })
})

describe('a manifest', () => {
  const manifest = (spec: string) =>
    `apiVersion: chaperone.dev/v1alpha1\nkind: Connector\nmetadata: { name: plain }\nspec: ${spec}\n`
  const spec = (port: number, upstreamMore: string, more = '') =>
    `{ type: generic, domains: [manifest.example], credential: { secretRef: { name: s } }, ${more}upstream: { url: "http://127.0.0.1:${port}", allowPrivateAddresses: true${upstreamMore} } }`

  test('is refused with the remedy, and its credential goes nowhere', async () => {
    const before = upstream.connections
    laptop.writeManifest('plain.yaml', manifest(spec(upstream.port, '')))
    const text = await eventually('the problem', async () => {
      const { body } = await laptop.api('GET', '/api/dashboard/manifests')
      const shown = JSON.stringify(body)
      return shown.includes('allowPlaintextCredential') ? shown : null
    })
    expect(text).toMatch(/clear text/)
    expect((await ask('manifest.example'))?.status ?? 403).toBe(403)
    expect(upstream.connections).toBe(before)
  })

  test('is accepted with the permission, over every transport', async () => {
    laptop.writeManifest('plain.yaml', manifest(spec(upstream.port, ', allowPlaintextCredential: true')))
    await eventually('the connector', async () =>
      (await ask('manifest.example'))?.status === 200 ? true : null,
    )
    expect(upstream.seen.at(-1)?.header('authorization')).toBe(`Bearer ${TOKEN}`)
    const seen = upstream.seen.length
    for (const way of ['connect-h1', 'connect-h2', 'absolute'] as const)
      expect((await agent.json({ method: 'GET', host: 'manifest.example', target: '/x' }, way)).status).toBe(
        200,
      )
    expect(upstream.seen).toHaveLength(seen + 3)
  })

  test('that removes the permission is refused, and the stored connector stays unchanged', async () => {
    laptop.writeManifest('plain.yaml', manifest(spec(upstream.port, '')))
    await eventually('the problem', async () => {
      const { body } = await laptop.api('GET', '/api/dashboard/manifests')
      return JSON.stringify(body).includes('allowPlaintextCredential') ? true : null
    })
    expect((await ask('manifest.example'))?.status).toBe(200)
  })

  test('with auth none needs no permission: no credential is sent', async () => {
    laptop.writeManifest('plain.yaml', manifest(spec(upstream.port, '', 'auth: { type: none }, ')))
    await eventually('a request without a credential', async () => {
      await ask('manifest.example')
      return upstream.seen.at(-1)?.header('authorization') === undefined ? true : null
    })
  })
})
