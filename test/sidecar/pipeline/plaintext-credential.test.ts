import { afterEach, describe, expect, test } from 'vitest'
import { withoutExposedCredential } from '../../../core/connectors/credentials/clear-text.ts'
import type { ConnectorEntry } from '../../../core/wire/gateway/sync.ts'
import { type Recorder, startRecorder } from '../../support/recorder.ts'
import { createTestCa } from '../../support/test-ca.ts'
import { expectRefused, LIST, MERGE, start } from './pipeline-world.ts'
import type { TestExchangeInput } from './test-exchange.ts'
import { connectorAt, SECRET } from './test-world.ts'

const closing: Recorder[] = []
afterEach(async () => {
  for (const recorder of closing.splice(0)) await recorder.close()
})

const ALL = [
  ['codehost.*', 'allow'],
  ['generic.*', 'allow'],
  ['mcp.*', 'allow'],
] as const
const MCP_CALL: TestExchangeInput = {
  method: 'POST',
  target: '/mcp',
  headers: ['Content-Type', 'application/json'],
  body: '{"jsonrpc":"2.0","id":1,"method":"tools/list"}',
}

const UPGRADE = [
  ...['Upgrade', 'websocket', 'Connection', 'Upgrade', 'Sec-WebSocket-Version', '13'],
  ...['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
]

/** The connector of the tests as it is without permission for clear text. */
function plain(url: string, over: Partial<ConnectorEntry> = {}): Partial<ConnectorEntry> {
  return { upstream: { url, allowPrivateAddresses: true }, ...over }
}

describe('a credential whose upstream is plain http is not sent', () => {
  const HTTP: ReadonlyArray<readonly [string, (port: number) => string]> = [
    ['as it is usually written', (port) => `http://127.0.0.1:${port}`],
    ['in upper case', (port) => `HTTP://127.0.0.1:${port}`],
    ['in mixed case', (port) => `hTTp://127.0.0.1:${port}`],
    ['with blanks in front', (port) => `  http://127.0.0.1:${port}`],
    ['with a tab in the scheme', (port) => `ht\ttp://127.0.0.1:${port}`],
    ['with a line feed in the scheme', (port) => `http\n://127.0.0.1:${port}`],
    ['with one slash', (port) => `http:/127.0.0.1:${port}`],
    ['without slashes', (port) => `http:127.0.0.1:${port}`],
    ['with backslashes', (port) => `http:\\\\127.0.0.1:${port}`],
    ['with a user name', (port) => `http://https:@127.0.0.1:${port}`],
    ['with a path', (port) => `http://127.0.0.1:${port}/https://x`],
    ['with the address as a number', (port) => `http://2130706433:${port}`],
  ]
  test.each(HTTP)('%s', async (_what, url) => {
    const world = await start({ permissions: ALL })
    world.apply({ permissions: ALL, connectors: [plain(url(world.upstream.port))] })
    const { reply } = await world.send(LIST)
    expect(reply.status).toBe(403)
    expect(reply.json()['reason']).toMatch(/allowPlaintextCredential/)
    expectRefused(world)
    expect(world.records[0]).toMatchObject({ decision: 'DENY', reason: 'credential' })
    expect(JSON.stringify(world.records)).not.toContain(SECRET)
  })

  const AUTH = ['bearer', 'token', 'basic', 'header'] as const
  test.each(AUTH)('with auth of type %s', async (type) => {
    const world = await start()
    const auth = type === 'header' ? { type, header: 'X-API-Key' } : { type }
    const url = world.upstream.url
    world.apply({
      permissions: ALL,
      connectors: [plain(url, { type: 'generic', domains: ['a.test'], auth })],
    })
    const { reply } = await world.send({ host: 'a.test', target: '/x' })
    expect(reply.status).toBe(403)
    expectRefused(world)
  })

  const REQUESTS: ReadonlyArray<readonly [string, TestExchangeInput]> = [
    ['a read', LIST],
    ['a write', MERGE],
    ['plain http from the agent', { ...LIST, scheme: 'http' }],
    ['a WebSocket', { ...LIST, kind: 'upgrade', headers: UPGRADE }],
  ]
  test.each(REQUESTS)('%s', async (_what, request) => {
    const world = await start()
    world.apply({ permissions: ALL, connectors: [plain(world.upstream.url)] })
    expect((await world.send(request)).reply.status).toBe(403)
    expectRefused(world)
  })

  test('a call of an MCP server', async () => {
    const world = await start()
    const mcp = { type: 'mcp' as const, domains: ['mcp.test'], endpoint: ['/mcp'] }
    world.apply({ permissions: ALL, connectors: [plain(world.upstream.url, mcp)] })
    const { reply } = await world.send({ ...MCP_CALL, host: 'mcp.test' })
    expect(reply.text()).toMatch(/allowPlaintextCredential/)
    expectRefused(world)
  })

  test('at the level monitor the request passes without it', async () => {
    const world = await start()
    const gateway = { enforcementLevel: 'monitor' } as const
    world.apply({ gateway, connectors: [plain(world.upstream.url)] })
    const { reply } = await world.send(LIST)
    expect(reply.status).toBe(200)
    expect(JSON.stringify(world.upstream.seen[0]?.rawHeaders)).not.toContain(SECRET)
  })
})

describe('a credential is sent', () => {
  test('in clear text where the connector allows it', async () => {
    const world = await start({ permissions: ALL })
    expect((await world.send(LIST)).reply.status).toBe(200)
    expect(world.upstream.seen[0]?.header('authorization')).toBe(`token ${SECRET}`)
  })

  test.each(['http', 'https'] as const)('over TLS for a request that came as %s', async (scheme) => {
    const ca = createTestCa()
    const upstream = await startRecorder({ tls: ca.issue('127.0.0.1', 'api.github.com') })
    closing.push(upstream)
    const route = { url: upstream.url, allowPrivateAddresses: true, caBundle: ca.cert }
    const world = await start({ permissions: ALL, connectors: [{ upstream: route }] })
    expect((await world.send({ ...LIST, scheme })).reply.status).toBe(200)
    expect(upstream.seen[0]?.header('authorization')).toBe(`token ${SECRET}`)
    expect(world.upstream.connections).toBe(0)
  })

  test('over TLS only where the address is plain http and private addresses are not allowed', async () => {
    const world = await start()
    const upstream = {
      url: world.upstream.url.replace('127.0.0.1', 'localhost'),
      allowPrivateAddresses: false,
    }
    world.apply({ permissions: ALL, connectors: [{ upstream }] })
    expect((await world.send(LIST)).reply.status).toBe(502)
    expect(world.upstream.connections).toBe(0)
  })
})

describe('an entry of the control plane', () => {
  const KEPT: ReadonlyArray<readonly [string, Partial<ConnectorEntry>]> = [
    ['without an address of its own', { upstream: { allowPrivateAddresses: true } }],
    ['with https', plain('https://127.0.0.1')],
    [
      'with http to public addresses, which is dialled as TLS',
      { upstream: { url: 'http://a.test', allowPrivateAddresses: false } },
    ],
    ['that sends no credential', plain('http://127.0.0.1', { auth: { type: 'none' } })],
  ]
  test.each(KEPT)('%s is unchanged', (_what, over) => {
    const entry = connectorAt(1, over)
    expect(withoutExposedCredential(entry)).toBe(entry)
  })
})
