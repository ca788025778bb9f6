import { describe, expect, test } from 'vitest'
import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import { PolicySpec } from '../../../core/crd/policy/policy-spec.ts'
import { PermissionSpec, type ResourceKind } from '../../../core/crd/schemas.ts'
import { withoutDefaults } from '../../../operator/reconcile/without-defaults.ts'

const SPECS = {
  Gateway: GatewaySpec,
  Connector: ConnectorSpec,
  Permission: PermissionSpec,
  Policy: PolicySpec,
}
const GENERIC = { type: 'generic', domains: ['a.test'] }
const RULES = [{ connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }]
const NO_MERGE = {
  scope: { actions: ['codehost.pr.merge'] },
  rules: [{ name: 'no', decision: 'deny' }],
  tests: [
    {
      name: 'merge',
      action: { type: 'codehost.pr.merge', resource: { provider: 'codehost' } },
      expect: { outcome: 'deny' },
    },
  ],
}

describe('a pushed spec', () => {
  test.each<[string, ResourceKind, object]>([
    ['of defaults is empty', 'Gateway', {}],
    ['keeps what differs inside of an object', 'Gateway', { egress: { unmatchedHosts: 'tunnel' } }],
    ['keeps the order of a list', 'Gateway', { egress: { allowedHosts: ['b.test', 'a.test'] } }],
    [
      'has no defaults in entries of a list',
      'Gateway',
      { egress: { tcp: [{ host: 'db.test', port: 5432 }] } },
    ],
    [
      'has no defaults in optional objects',
      'Gateway',
      { agents: { startOnlyWithRules: true }, killSwitch: {} },
    ],
    ['of a Connector has no defaults', 'Connector', GENERIC],
    ['keeps what differs in a Connector', 'Connector', { ...GENERIC, tls: { mode: 'passthrough' }, mcp: {} }],
    ['of a Permission has no defaults', 'Permission', { gatewayRefs: [{ name: 'g' }], rules: RULES }],
    ['of a Policy has no defaults', 'Policy', NO_MERGE],
  ])('%s, and means the same', (_, kind, pushed) => {
    const stored = SPECS[kind].parse(pushed)
    const body = withoutDefaults(kind, stored)
    expect(body).toEqual(pushed)
    expect(SPECS[kind].parse(body)).toEqual(stored)
  })

  test('omits what is written and is the default', () => {
    expect(withoutDefaults('Gateway', { inbound: 'deny', hardening: 'standard' })).toEqual({
      inbound: 'deny',
    })
  })

  test('that the schema does not have, or that is no object, stays unchanged', () => {
    const spec = { type: 'generic', inbound: 'allow', constructor: { tls: 1 }, tls: 'text' }
    expect(withoutDefaults('Connector', spec)).toEqual(spec)
    expect(withoutDefaults('Gateway', 'text')).toBe('text')
  })
})
