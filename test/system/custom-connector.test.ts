import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestAgent, testAgent } from '../support/agent.ts'
import { type Checkout, copyCheckout } from '../support/checkout.ts'
import { eventually } from '../support/eventually.ts'
import { upstreamSpec } from '../support/every-connector.ts'
import { type Laptop, startLaptop } from '../support/laptop.ts'
import { type Recorder, startRecorder } from '../support/recorder.ts'
import { createTestCa } from '../support/test-ca.ts'

/**
 * A custom connector, registered as CONTRIBUTING says: its file and one entry of `BUILT_IN`, in a copy of the sources that
 * then runs as an installation.
 */
const HOST = 'tickets.example.test'
let checkout: Checkout
let recorder: Recorder
let laptop: Laptop
let agent: TestAgent

beforeAll(async () => {
  checkout = copyCheckout()
  register(checkout.root)
  checkout.run('scripts/generate.ts')
  const ca = createTestCa()
  recorder = await startRecorder({ tls: ca.issue(HOST) })
  laptop = await startLaptop({
    checkout: checkout.root,
    database: 'worker',
    manifests: { 'ticketing.yaml': manifests(recorder.port, ca.cert) },
  })
  agent = testAgent(laptop)
})
afterAll(async () => {
  await laptop?.stop()
  await recorder?.close()
  checkout?.remove()
})

/** The one file of the connector, and its registration. */
function register(root: string): void {
  const example = readFileSync(new URL('../core/connectors/ticketing.ts', import.meta.url), 'utf8')
  writeFileSync(
    join(root, 'core/connectors/ticketing.ts'),
    example.replaceAll("'../../../core/connectors/", "'./"),
  )
  const registry = join(root, 'core/connectors/registry.ts')
  const text = readFileSync(registry, 'utf8')
    .replace(
      'export const BUILT_IN = [',
      "import { ticketing } from './ticketing.ts'\nexport const BUILT_IN = [",
    )
    .replace('  mcp,\n]', '  mcp,\n  ticketing,\n]')
  writeFileSync(registry, text)
}

function manifests(port: number, caPem: string): string {
  return `apiVersion: chaperone.dev/v1alpha1
kind: Gateway
metadata: { name: local }
spec: {}
---
apiVersion: v1
kind: Secret
metadata: { name: tickets }
stringData: { token: robots-password }
---
apiVersion: chaperone.dev/v1alpha1
kind: Connector
metadata: { name: tickets }
spec:
  type: ticketing
  errorShape: provider
  credential: { secretRef: { name: tickets } }
${upstreamSpec(port, caPem)}
---
apiVersion: chaperone.dev/v1alpha1
kind: Permission
metadata: { name: closing }
spec:
  gatewayRefs: [{ name: local }]
  rules:
    - { connectorType: ticketing, actionPattern: ticketing.ticket.close, decision: allow }
`
}

const records = async (action: string) => {
  const { body } = await laptop.api('GET', '/api/dashboard/traffic?limit=50')
  const all = body['traffic'] as ReadonlyArray<{ readonly action_type: string; readonly decision: string }>
  return all.filter((record) => record.action_type === action)
}

describe('a custom connector that is registered in one place', () => {
  test('is a type of the custom resources and of the dashboard', () => {
    const crd = readFileSync(join(checkout.root, 'crds/chaperone.dev_connectors.yaml'), 'utf8')
    expect(crd).toMatch(/^ +- ticketing$/m)
    const labels = readFileSync(
      join(checkout.root, 'controlplane/dashboard/labels/connector-types.ts'),
      'utf8',
    )
    expect(labels).toContain("ticketing: { title: 'Ticket system', credential: 'Robot password' }")
    expect(checkout.run('scripts/generate.ts', '--check')).toContain('0 differ')
  })

  test('is in force from a manifest, and the dashboard lists it with its hosts', async () => {
    const listed = await laptop.api('GET', '/api/dashboard/connectors')
    expect(listed.body['connectors']).toEqual([
      expect.objectContaining({ name: 'default/tickets', type: 'ticketing', domains: [HOST] }),
    ])
    const kinds = await laptop.api('GET', '/api/dashboard/catalogue')
    expect(kinds.body['connectors']).toContainEqual(
      expect.objectContaining({ type: 'ticketing', domains: [HOST], auth: 'basic' }),
    )
  })

  test('names its requests at the gateway, which sends its credential', async () => {
    const answer = await agent.send({
      method: 'POST',
      host: HOST,
      target: '/tickets/7/close',
      headers: [['X-Ticket-Token', 'agents']],
    })
    expect(answer.status).toBe(200)
    expect(recorder.seen).toHaveLength(1)
    expect(recorder.seen[0]).toMatchObject({ method: 'POST', target: '/tickets/7/close' })
    expect(recorder.seen[0]?.header('authorization')).toBe(`Basic ${btoa('robot:robots-password')}`)
    expect(recorder.seen[0]?.header('x-ticket-token')).toBeUndefined()
    const found = await eventually('the record', async () => {
      const all = await records('ticketing.ticket.close')
      return all.length > 0 ? all : null
    })
    expect(found).toHaveLength(1)
  })

  test('refuses what no permission allows, in the error format of its provider', async () => {
    const before = recorder.seen.length
    const answer = await agent.json({ method: 'DELETE', host: HOST, target: '/tickets/7' })
    expect(answer).toMatchObject({ status: 403, body: { problems: [expect.any(String)] } })
    expect(recorder.seen).toHaveLength(before)
    const found = await eventually('the record', async () => {
      const all = await records('ticketing.unmapped.delete')
      return all.length > 0 ? all : null
    })
    expect(found).toHaveLength(1)
  })
})
