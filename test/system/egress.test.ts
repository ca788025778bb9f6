import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { eventually } from '../support/eventually.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'
import { openTunnel } from '../support/tunnel.ts'

let laptop: Laptop
let agent: TestAgent
let wrongName: Recorder
let unknownCa: Recorder
let inner: Recorder

const ca = createTestCa()
const generic = (name: string, host: string, upstream: string) => `---
apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: ${name} }
spec:
  type: generic
  domains: ['${host}']
  ports: [443, 8443]
  credential: { secretRef: { name: s, key: token } }
${upstream}`

beforeAll(async () => {
  wrongName = await startRecorder({ tls: ca.issue('other.example') })
  unknownCa = await startRecorder({ tls: createTestCa().issue('unknown-ca.example') })
  inner = await startRecorder({ tls: ca.issue('127.0.0.1') })
  const bundle = `    caBundle: |\n      ${ca.cert.trim().replaceAll('\n', '\n      ')}\n`
  const allowed = (port: number) =>
    `  upstream:\n    url: https://127.0.0.1:${port}\n    allowPrivateAddresses: true\n${bundle}`
  const manifests = [
    'apiVersion: chaperone.dev/v1alpha1\nkind: Gateway\nmetadata: { name: local }\nspec: {}\n---\n',
    'apiVersion: v1\nkind: Secret\nmetadata: { name: s }\nstringData: { token: top-secret-credential }\n---\n',
    'apiVersion: chaperone.dev/v1alpha1\nkind: Permission\nmetadata: { name: p }\nspec:\n  gatewayRefs: [{ name: local }]\n  rules:\n    - { connectorType: generic, actionPattern: generic.*, decision: allow }\n',
    generic('wrong-name', 'wrong-name.example', allowed(wrongName.port)),
    generic('unknown-ca', 'unknown-ca.example', allowed(unknownCa.port)),
    generic('loopback', '127.0.0.1', ''),
    generic('localhost', 'localhost', ''),
    generic('metadata', '169.254.169.254', ''),
    generic('private', '10.0.0.1', ''),
    generic('nat64', '64:ff9b::7f00:1', ''),
    generic('mapped', '::ffff:7f00:1', ''),
    generic('redirected', 'redirected.example', `  upstream: { url: 'https://127.0.0.1:${inner.port}' }\n`),
  ].join('')
  laptop = await startLaptop({ database: 'worker', manifests: { 'egress.yaml': manifests } })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  for (const recorder of [wrongName, unknownCa, inner]) await recorder?.close()
})

async function lastRecord(host: string): Promise<Record<string, unknown>> {
  return eventually(`a record for ${host}`, async () => {
    const { body } = await laptop.api('GET', `/api/dashboard/traffic?limit=100&q=${encodeURIComponent(host)}`)
    return (body['traffic'] as Record<string, unknown>[])[0] ?? null
  })
}

test('a host that no connector owns is refused inside TLS with a reason, and recorded once', async () => {
  const refused = await agent.json({ method: 'GET', host: 'nobody.example', target: '/' })
  expect(refused.status).toBe(403)
  expect(String(refused.body['message'])).toMatch(/no connector/i)
  expect(await lastRecord('nobody.example')).toMatchObject({
    decision: 'DENY',
    reason: expect.stringMatching(/unknown_host|connector/),
  })
})

test.each([
  ['a certificate for another name', 'wrong-name.example', () => wrongName],
  ['a certificate of an unknown CA', 'unknown-ca.example', () => unknownCa],
])('%s is 502 before a credential byte is sent', async (_what, host, recorder) => {
  const answer = await agent.json({ method: 'GET', host, target: '/' })
  expect(answer.status).toBe(502)
  expect(answer.body).toMatchObject({ error_type: 'tls' })
  expect(String(answer.body['message'])).toMatch(/certificate|TLS/)
  expect(recorder().seen).toHaveLength(0)
})

test.each(['127.0.0.1', 'localhost', '10.0.0.1', '[64:ff9b::7f00:1]', '[::ffff:7f00:1]'])(
  '%s is never dialled by default',
  async (host) => {
    const answer = await agent.json({ method: 'GET', host, target: '/' })
    expect(answer.status).toBe(502)
    expect(answer.body).toMatchObject({ error: 'upstream address refused' })
    expect(String(answer.body['message'])).toMatch(/allowPrivateAddresses/)
  },
)

test('a metadata address is never dialled, and the refusal names no setting', async () => {
  const answer = await agent.json({ method: 'GET', host: '169.254.169.254', target: '/' })
  expect(answer.status).toBe(502)
  expect(answer.body).toMatchObject({ error: 'upstream address refused' })
  expect(String(answer.body['message'])).toMatch(/metadata.*No setting allows such addresses/)
})

test('an upstream URL that points inside needs allowPrivateAddresses: nothing reaches it', async () => {
  const answer = await agent.json({ method: 'GET', host: 'redirected.example', target: '/' })
  expect(answer.status).toBe(502)
  expect(answer.body).toMatchObject({ error: 'upstream address refused' })
  expect(inner.connections).toBe(0)
})

test('a wrong key on the shared port is 407, the right one works, and no key is 407', async () => {
  const port = Number(new URL(laptop.ready.gateway_url).port)
  const created = await laptop.api('POST', '/api/dashboard/agents', {
    name: 'keyed',
    runtime: 'x',
    environment: 'test',
  })
  const key = String(created.body['api_key'])
  const basic = (secret: string) => `Basic ${Buffer.from(`keyed:${secret}`).toString('base64')}`
  const target = { port, via: 'connect', ca: agent.target.ca } as const
  const none = await openTunnel(target, 'wrong-name.example').catch((error: Error) => error)
  expect(String(none)).toMatch(/407/)
  const wrong = await openTunnel(
    { ...target, proxyAuthorization: basic('svc_test_wrong') },
    'wrong-name.example',
  ).catch((error: Error) => error)
  expect(String(wrong)).toMatch(/407/)
  const right = await eventually('the new agent is known', async () =>
    openTunnel({ ...target, proxyAuthorization: basic(key) }, 'wrong-name.example').catch(() => null),
  )
  right.destroy()
})
