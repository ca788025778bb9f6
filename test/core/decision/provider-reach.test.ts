import { describe, expect, test } from 'vitest'
import { classify } from '../../../core/connectors/classify.ts'
import { actionsOf } from '../../../core/connectors/named-action.ts'
import { findConnector } from '../../../core/connectors/registry.ts'
import { decideReach } from '../../../core/decision/provider-reach.ts'
import { isRefusal } from '../../../core/request/canonical.ts'
import { canonicalise } from '../../../core/request/canonicalise.ts'
import { scanJson } from '../../../core/request/json/json-scan.ts'
import { runSliced } from '../../../core/sliced.ts'
import { type Rules, snapshotOf } from '../../sidecar/pipeline/test-world.ts'

type Tools = NonNullable<NonNullable<Rules['connectors']>[number]['providerTools']>
type Kinds = Tools['allow']

/** What the gateway says to each act of the provider for a response with these tools. */
function reach(tools: readonly object[], listed: Kinds | Tools, gateway: Rules['gateway'] = {}) {
  const providerTools = Array.isArray(listed) ? { allow: listed } : listed
  const connectors = [
    { type: 'llm_a' as const, name: 'openai', providerTools },
    { type: 'generic' as const, name: 'own', domains: ['owned.example'], id: 'conn_own' },
  ]
  const snapshot = snapshotOf({ connectors, gateway }, 1, 1)
  const bound = findConnector(snapshot.hosts, 'api.openai.com', 443)
  const rawHeaders = ['Host', 'api.openai.com', 'Content-Type', 'application/json', 'Content-Length', '9']
  const raw = {
    method: 'POST',
    target: '/v1/responses',
    rawHeaders,
    httpVersion: '1.1',
    scheme: 'https',
  } as const
  const request = canonicalise({ ...raw, sources: {} })
  if (bound === null || isRefusal(request)) throw new Error('no request')
  const bytes = new TextEncoder().encode(JSON.stringify({ model: 'm', tools }))
  const scan = runSliced(scanJson(bytes, { keep: [], find: bound.connector.find }))
  if (isRefusal(scan)) throw new Error(scan.detail)
  const named = classify(bound, request, { kind: 'json', value: scan.value, found: scan.found })
  if (isRefusal(named)) throw new Error(named.detail)
  return actionsOf(named).map((action) => decideReach(snapshot, bound, action))
}

const server = (url: string) => ({ type: 'mcp', server_label: 'x', server_url: url })
const ALLOWED: Kinds = ['provider_tool.mcp', 'provider_fetch.url', 'provider_tool.web_search']

describe('reach of a provider on behalf of a request', () => {
  test('is empty unless the Connector lists it, and the reason states what to add', () => {
    const [own, decision] = reach([server('https://owned.example/mcp')], [])
    expect(own).toBeUndefined()
    expect(decision).toMatchObject({ verdict: 'deny', would: 'deny' })
    expect(decision?.reason).toMatch(/owned\.example \(tools\.\*\.server_url\)/)
    expect(decision?.reason).toMatch(/"provider_tool\.mcp" to providerTools\.allow of Connector "openai"/)
  })

  test('lacks what the Connector denies, also what reaches no host and whatever the level of the others', () => {
    const code = { type: 'code_interpreter', container: { type: 'auto' } }
    expect(reach([code], [])).toEqual([undefined, undefined])
    const [own, decision] = reach([code], { allow: [], deny: ['provider_tool.code'] })
    expect(own).toBeUndefined()
    expect(decision).toMatchObject({ verdict: 'deny', would: 'deny' })
    expect(decision?.reason).toContain(
      'Connector "openai" denies "provider_tool.code" in providerTools.deny.',
    )
  })

  test('includes the hosts of Connectors', () => {
    expect(reach([server('https://owned.example/mcp')], ALLOWED)).toEqual([undefined, undefined])
  })

  test('includes the hosts that egress.allowedHosts lists, on their ports', () => {
    const gateway = { egress: { allowedHosts: ['tools.example:8443'] } }
    expect(reach([server('https://tools.example:8443/mcp')], ALLOWED, gateway)[1]).toBeUndefined()
    expect(reach([server('https://tools.example/mcp')], ALLOWED, gateway)[1]?.verdict).toBe('deny')
  })

  test.each([
    'https://attacker.example/mcp',
    'http://owned.example:81/',
    'https://[::1]/',
    'https://10.0.0.1',
  ])('is no other host: %s', (url) => {
    const decision = reach([server(url)], ALLOWED)[1]
    expect(decision).toMatchObject({ verdict: 'deny', would: 'deny' })
    expect(decision?.reason).toMatch(/No connector owns .* egress\.allowedHosts/)
  })

  test.each([
    'https://owned.example@attacker.example/',
    'https://owned.example\\.attacker.example',
    'owned.example',
  ])('is no host that servers could read differently: %s', (url) => {
    expect(reach([server(url)], ALLOWED)[1]?.reason).toMatch(/Send a plain https URL/)
  })

  test('is everything at the level monitor, and the reason mentions it', () => {
    const gateway = { enforcementLevel: 'monitor' as const }
    const decisions = [
      ...reach([server('https://a.example')], [], gateway),
      ...reach([server('https://a.example')], ALLOWED, gateway),
    ]
    expect(decisions.filter(Boolean)).toMatchObject([
      { verdict: 'allow', would: 'deny', source: 'level' },
      { verdict: 'allow', would: 'deny', source: 'level' },
    ])
  })

  test('needs no list for tools that stay at the provider', () => {
    expect(reach([{ type: 'code_interpreter' }, { type: 'file_search' }], [])).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })

  test('is no tool without a row unless the Connector lists such tools', () => {
    expect(reach([{ type: 'teleport' }], ALLOWED)[1]?.verdict).toBe('deny')
    expect(reach([{ type: 'teleport' }], ['provider_tool.unknown'])[1]).toBeUndefined()
  })
})
