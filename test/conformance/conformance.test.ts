import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAdmit } from '../../sidecar/pipeline/admit.ts'
import { startFront } from '../sidecar/listener/harness.ts'
import { startWorld, type World } from '../sidecar/pipeline/test-world.ts'
import { type ReferenceServer, startReferenceServer } from './reference-server.ts'
import { installSuite, runSuite, type SuiteResult } from './suite.ts'

/**
 * The protocol's own conformance suite against one server, directly and through an agent's port of the gateway: a
 * client must not be able to tell the two apart.
 */
const missing = installSuite()
if (missing !== null && process.env['CI'] !== undefined) throw new Error(missing)
if (missing !== null) console.warn(`skipped: ${missing}`)

describe.skipIf(missing !== null)('the MCP conformance suite', () => {
  let server: ReferenceServer
  let direct: SuiteResult

  beforeAll(async () => {
    server = await startReferenceServer()
    direct = await runSuite(`http://127.0.0.1:${server.port}/mcp`)
  }, 300_000)
  afterAll(() => server?.[Symbol.asyncDispose]())

  test('passes directly in every scenario, so that the comparison means something', () => {
    expect(Object.keys(direct).length).toBeGreaterThanOrEqual(30)
    expect(
      Object.values(direct)
        .flat()
        .filter((check) => check.endsWith('FAILURE')),
    ).toEqual([])
  })

  test.each(['monitor', 'full_enforce'] as const)(
    'passes through the gateway at the level %s exactly as it does directly',
    async (level) => {
      await using world = await startWorld()
      await using front = await startFront({ handle: world.run, admit: createAdmit(world.ports) })
      const port = await front.front.openAgentPort('builder')
      world.apply(rulesAt(level, server.port))
      const url = `http://127.0.0.1:${server.port}/mcp`
      expect(await runSuite(url, `http://127.0.0.1:${port}`)).toEqual(direct)
      expectGoverned(world)
    },
    300_000,
  )
})

function rulesAt(enforcementLevel: 'monitor' | 'full_enforce', port: number) {
  return {
    gateway: { enforcementLevel, rateLimit: { requestsPerMinute: 1_000_000 } },
    permissions: [['mcp.*', 'allow']] as const,
    connectors: [
      {
        ...{ type: 'mcp' as const, name: 'reference', auth: { type: 'none' as const }, secret: null },
        ...{ domains: ['127.0.0.1'], ports: [port] },
        upstream: { url: `http://127.0.0.1:${port}`, allowPrivateAddresses: true },
      },
    ],
  }
}

function expectGoverned({ records }: World): void {
  const types = new Set(records.map(({ action_type }) => action_type))
  for (const type of [
    'mcp.tools.list',
    'mcp.tools.test_simple_text',
    'mcp.rpc.initialize',
    'mcp.rpc.response',
  ])
    expect(types).toContain(type)
  // The suite once names another host than it connects to, which the gateway refuses as the server does.
  const refused = records.filter(({ decision }) => decision !== 'ALLOW')
  expect(refused.map(({ reason }) => reason).filter((reason) => reason !== 'ambiguous')).toEqual([])
  expect(refused.length).toBeLessThanOrEqual(1)
}
