import { describe, expect, test } from 'vitest'
import { admits } from '../../../../core/crd/gateway/allowed-namespaces.ts'
import { GatewayResource, PolicyResource } from '../../../../core/crd/schemas.ts'

const gateway = (agents: object) =>
  GatewayResource.safeParse({
    apiVersion: 'chaperone.dev/v1alpha1',
    kind: 'Gateway',
    metadata: { name: 'shared', namespace: 'platform' },
    spec: { allowedNamespaces: { agents } },
  })
const admitted = (agents: object, name: string, labels?: Record<string, string>) => {
  const allowed = gateway(agents).data?.spec.allowedNamespaces?.agents
  return admits({ namespace: 'platform', allowed }, { name, labels })
}
const labels = (matchLabels: object) => ({ from: 'Selector', selector: { matchLabels } })
const where = (key: string, operator: string, ...values: string[]) => ({
  ...{ from: 'Selector', selector: { matchExpressions: [{ key, operator, values }] } },
})

describe('a Gateway admits a namespace', () => {
  test.each([
    ['of its own with Same', { from: 'Same' }, 'platform', {}, true],
    ['of its own that is not known', {}, 'platform', undefined, true],
    ['of others only with more than Same', { from: 'Same' }, 'team', {}, false],
    ['with All', { from: 'All' }, 'team', undefined, true],
    ['by name', { from: 'Selector', names: ['team'] }, 'team', undefined, true],
    ['not by the beginning of a name', { from: 'Selector', names: ['team'] }, 'team-b', {}, false],
    ['not by another case', { from: 'Selector', names: ['team'] }, 'TEAM', {}, false],
    ['by a label', labels({ tier: 'trusted' }), 'team', { tier: 'trusted' }, true],
    ['not by another value', labels({ tier: 'trusted' }), 'team', { tier: 'Trusted' }, false],
    ['not by one label of two', labels({ a: '1', b: '2' }), 'team', { a: '1' }, false],
    ['by the label of its name', labels({ 'kubernetes.io/metadata.name': 'team' }), 'team', {}, true],
    [
      'not by a forged label of its name',
      labels({ 'kubernetes.io/metadata.name': 'team' }),
      'evil',
      { 'kubernetes.io/metadata.name': 'team' },
      false,
    ],
    ['not by a member that every object has', labels({ constructor: '' }), 'team', {}, false],
    ['with In', where('tier', 'In', 'a', 'b'), 'team', { tier: 'b' }, true],
    ['not with In without the label', where('tier', 'In', 'a'), 'team', {}, false],
    ['with NotIn', where('tier', 'NotIn', 'a'), 'team', { tier: 'b' }, true],
    ['with NotIn without the label', where('tier', 'NotIn', 'a'), 'team', {}, true],
    ['not with NotIn', where('tier', 'NotIn', 'a'), 'team', { tier: 'a' }, false],
    ['with Exists', where('tier', 'Exists'), 'team', { tier: '' }, true],
    ['not with Exists of a member that every object has', where('toString', 'Exists'), 'team', {}, false],
    ['with DoesNotExist', where('tier', 'DoesNotExist'), 'team', {}, true],
    ['not with NotIn while its labels are not known', where('tier', 'NotIn', 'a'), 'team', undefined, false],
    ['not with DoesNotExist while they are not known', where('t', 'DoesNotExist'), 'team', undefined, false],
  ] as const)('%s', (_what, agents, name, own, expected) => {
    expect(gateway(agents).error?.message).toBeUndefined()
    expect(admitted(agents, name, own)).toBe(expected)
  })

  test.each([
    ['names beside Same', { names: ['team'] }],
    ['names beside All', { from: 'All', names: ['team'] }],
    ['a selector beside All', { ...labels({ a: '1' }), from: 'All' }],
    ['Selector alone', { from: 'Selector' }],
    ['an empty selector', { from: 'Selector', selector: {} }],
    ['an empty selector beside names', { from: 'Selector', selector: {}, names: ['team'] }],
    ['In without values', where('tier', 'In')],
    ['Exists with values', where('tier', 'Exists', 'a')],
    ['an unknown operator', where('tier', 'Like', 'a')],
    ['a repeated name', { from: 'Selector', names: ['team', 'team'] }],
    ['the earlier list', ['team']],
  ])('is refused with %s', (_what, agents) => {
    expect(gateway(agents).success).toBe(false)
  })
})

describe('a Policy that selects namespaces', () => {
  const policy = (spec: object) =>
    PolicyResource.safeParse({
      ...{
        apiVersion: 'chaperone.dev/v1alpha1',
        kind: 'Policy',
        metadata: { name: 'p', namespace: 'platform' },
      },
      spec: { rules: [{ name: 'r', decision: 'deny' }], ...spec },
    })
  const some = { matchLabels: { tier: 'regulated' } }

  test('by labels is a Policy', () => {
    expect(policy({ namespaceSelector: some }).error?.message).toBeUndefined()
  })

  test.each([
    ['references beside the selector', { gatewayRefs: [{ name: 'g' }], namespaceSelector: some }],
    ['an empty selector', { namespaceSelector: {} }],
    ['In without values', { namespaceSelector: { matchExpressions: [{ key: 'a', operator: 'In' }] } }],
    ['names', { namespaceSelector: { names: ['team'] } }],
  ])('is refused with %s', (_what, spec) => {
    expect(policy(spec).success).toBe(false)
  })
})
