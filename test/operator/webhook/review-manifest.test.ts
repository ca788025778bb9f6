import { describe, expect, test } from 'vitest'
import type { AdmissionRequest } from '../../../operator/webhook/admission-review.ts'
import { reviewManifest } from '../../../operator/webhook/review-manifest.ts'
import { NO_FLOORS } from '../../support/no-floors.ts'

const RESOURCES = {
  Gateway: 'gateways',
  Connector: 'connectors',
  Permission: 'permissions',
  Policy: 'policies',
} as const
type Kind = keyof typeof RESOURCES
const objectOf = (kind: Kind, spec: unknown) => ({
  ...{ apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name: 'n', namespace: 'team' }, spec },
})

/** What the API server is answered: the refusal, or null. */
function refusal(kind: Kind, spec: object, before?: object, namespace = 'team'): string | null {
  const { allowed, refused } = reviewManifest(
    {
      ...{ uid: 'u', operation: before === undefined ? 'CREATE' : 'UPDATE', namespace, name: 'n' },
      resource: { group: 'chaperone.dev', version: 'v1alpha1', resource: RESOURCES[kind] },
      object: objectOf(kind, spec),
      ...(before === undefined ? {} : { oldObject: objectOf(kind, before) }),
    } as AdmissionRequest,
    { floorRules: { ...NO_FLOORS, platformNamespaces: new Set(['platform']) } },
  )
  expect(allowed).toBe(refused === undefined)
  return refused?.message ?? null
}

describe('an update of only the kill switch is always admitted', () => {
  /** Of another version: no Gateway may have this any more. */
  const OLD = { enforcementLevel: 'removed_level', formerField: 1, failurePolicy: { writesAfterSeconds: -1 } }
  const withKillSwitch = (killSwitch: unknown) => ({ ...OLD, killSwitch })
  const ACTIVE = { active: true, reason: 'drill' }
  const SCOPES = [{ kind: 'Agent', name: 'bot' }]

  test.each<[string, object, object]>([
    ['is set', OLD, withKillSwitch({ active: true })],
    ['is set with a reason and scopes', OLD, withKillSwitch({ ...ACTIVE, scopes: SCOPES })],
    ['is changed', withKillSwitch(ACTIVE), withKillSwitch({ ...ACTIVE, reason: 'more' })],
    ['is lifted', withKillSwitch(ACTIVE), withKillSwitch({ ...ACTIVE, active: false })],
    ['is taken out', withKillSwitch(ACTIVE), OLD],
  ])('when it %s on a Gateway that would be refused if it were created now', (_what, before, after) => {
    expect(refusal('Gateway', after, before)).toBeNull()
  })

  test('an update of the kill switch and another field is validated', () => {
    const message = refusal('Gateway', { ...withKillSwitch(ACTIVE), audit: 'sync' }, OLD)
    expect(message).toContain('enforcementLevel')
    expect(message).toContain('unknown field spec.formerField')
  })
})

test.each([
  ['env', { env: { name: 'A' } }],
  ['exec', { exec: { command: 'gh', args: ['auth', 'token'] } }],
])('a Connector with the source %s of one machine is refused with the step to take', (source, credential) => {
  expect(refusal('Connector', { type: 'codehost', credential })).toBe(
    `spec.credential.${source}: works only in an installation on one machine, not in a cluster; in a cluster, create a Secret and name it in secretRef`,
  )
  expect(
    refusal('Connector', { type: 'codehost', credential: { file: { path: '/mnt/team/token' } } }),
  ).toBeNull()
})

const REFS = [{ name: 'main' }]
const RULE = { name: 'no', decision: 'deny' }
const PERMISSION = { connectorType: 'codehost', actionPattern: 'codehost.*', decision: 'allow' }

describe('an unknown field is refused with the nearest name', () => {
  test.each<[Kind, object, string]>([
    ['Gateway', { enforcmentLevel: 'monitor' }, 'spec.enforcmentLevel; did you mean enforcementLevel?'],
    [
      'Gateway',
      { egress: { unmatchedHost: 'deny' } },
      'spec.egress.unmatchedHost; did you mean unmatchedHosts?',
    ],
    ['Connector', { type: 'codehost', credentail: {} }, 'spec.credentail; did you mean credential?'],
    [
      'Connector',
      { type: 'codehost', upstream: { ulr: 'https://x' } },
      'spec.upstream.ulr; did you mean url?',
    ],
    ['Permission', { gatewayRef: REFS, rules: [PERMISSION] }, 'spec.gatewayRef; did you mean gatewayRefs?'],
    [
      'Permission',
      { gatewayRefs: REFS, rules: [{ ...PERMISSION, actionPatern: 'x' }] },
      'spec.rules[0].actionPatern; did you mean actionPattern?',
    ],
    ['Policy', { rule: [RULE], rules: [RULE] }, 'spec.rule; did you mean rules?'],
    ['Policy', { rules: [{ ...RULE, condition: [] }] }, 'spec.rules[0].condition; did you mean conditions?'],
  ])('%s %j', (kind, spec, wanted) => {
    expect(refusal(kind, spec)).toContain(`unknown field ${wanted}`)
  })
})

describe('a former spelling is refused with the present one', () => {
  const test1 = {
    name: 't',
    action: { type: 'a.b', resource: { provider: 'a' }, risk_hints: {} },
    expect: {},
  }

  test.each<[Kind, object, string]>([
    [
      'Gateway',
      { topology: 'sidecar' },
      'unknown field spec.topology; remove the field, or run chaperone migrate',
    ],
    [
      'Gateway',
      { killSwitch: { scopes: ['agent:bot'] } },
      'spec.killSwitch.scopes[0]: "agent:bot" is not an object; use {kind: Agent, name: bot}',
    ],
    [
      'Gateway',
      { killSwitch: { scopes: ['bot'] } },
      'use {kind: Connector, name: bot} or {kind: Agent, name: bot}',
    ],
    ['Gateway', { killSwitch: { scopes: ['all'] } }, 'omit scopes to cover the whole Gateway'],
    ['Gateway', { killSwitch: { scopes: ['gateway:x'] } }, '"gateway:x" is not an object'],
    [
      'Gateway',
      { allowedNamespaces: { agents: ['team'] } },
      'spec.allowedNamespaces.agents: must not be a list; use {from: Selector, names: [...]}, or run chaperone migrate',
    ],
    ['Connector', { type: 'codehost', gateways: ['g'] }, 'unknown field spec.gateways; use gatewayRefs'],
    ['Permission', { gateway: 'g', rules: [PERMISSION] }, 'unknown field spec.gateway; use gatewayRefs'],
    ['Policy', { targetRefs: REFS, rules: [RULE] }, 'unknown field spec.targetRefs; use gatewayRefs'],
    [
      'Policy',
      { enabled: false, rules: [RULE] },
      'unknown field spec.enabled; use mode: disabled instead of enabled: false',
    ],
    [
      'Policy',
      { rules: [{ ...RULE, approver_groups: ['a'] }] },
      'unknown field spec.rules[0].approver_groups; use approverGroups',
    ],
    [
      'Policy',
      { rules: [RULE], tests: [test1] },
      'unknown field spec.tests[0].action.risk_hints; use riskHints',
    ],
  ])('%s %j', (kind, spec, wanted) => {
    expect(refusal(kind, spec)).toContain(wanted)
  })
})

describe('a spec that can never come into force is refused', () => {
  const row = (path: string, action = 'generic.invoice.get') => ({
    ...{ method: 'GET', path, action, effect: 'read', risk: 'low' },
  })
  const connector = (...actions: object[]) => ({ type: 'generic', domains: ['a.example'], actions })

  test.each<[string, Kind, object, RegExp]>([
    [
      'an action of another connector',
      'Connector',
      connector(row('/a', 'codehost.x.get')),
      /every action must begin/,
    ],
    [
      'a path that cannot be matched',
      'Connector',
      connector(row('/a/{b')),
      /spec\.actions: not a template segment: \{b/,
    ],
    [
      'a tail in the middle',
      'Connector',
      connector(row('/a/{b+}/c')),
      /spec\.actions: a tail must come last/,
    ],
    [
      'two actions of one path',
      'Connector',
      connector(row('/a/{b}'), row('/a/{c}', 'generic.bill.get')),
      /spec\.actions: two actions are declared for GET \/a\//,
    ],
    [
      'a limit out of order',
      'Gateway',
      { failurePolicy: { writesAfterSeconds: 700 } },
      /must have limits in this order/,
    ],
    [
      'a rule that is there twice',
      'Permission',
      { gatewayRefs: REFS, rules: [PERMISSION, PERMISSION] },
      /spec\.rules\[1\]: repeats entry 0/,
    ],
    [
      'a selector of namespaces by a tenant',
      'Policy',
      { rules: [RULE], namespaceSelector: { matchLabels: { team: 'b' } } },
      /namespaceSelector is for Policies in a namespace of the platform team/,
    ],
  ])('%s: %s', (_what, kind, spec, wanted) => {
    expect(refusal(kind, spec)).toMatch(wanted)
  })

  test('a namespaceSelector is admitted in a namespace of the platform team', () => {
    const spec = { rules: [RULE], namespaceSelector: { matchLabels: { team: 'b' } } }
    expect(refusal('Policy', spec, undefined, 'platform')).toBeNull()
  })

  test('action rows that can match are admitted', () => {
    expect(refusal('Connector', connector(row('/a/{b}'), row('/a/{b}/c/{d+}', 'generic.c.get')))).toBeNull()
  })
})

test('every rule of a Policy is compiled, and each problem has its place and the nearest name', () => {
  const rules = [
    { ...RULE, name: 'a', conditions: ['true', 'action.efect == "write"'] },
    { ...RULE, name: 'b', conditions: ['true &&\n  requst.path.startsWith("/")'] },
    { ...RULE, name: 'c', conditions: ['request.path.startWith("/")'] },
  ]
  const message = refusal('Policy', { rules }) ?? ''
  expect(message.split('; ')).toHaveLength(3)
  expect(message).toMatch(/spec\.rules\[0\]\.conditions\[1\]: .*no field "efect" \(did you mean effect\?\)/)
  expect(message).toMatch(/spec\.rules\[1\]\.conditions\[0\]: .*line 2, column 3.*\(did you mean request\?\)/)
  expect(message).toMatch(/spec\.rules\[2\]\.conditions\[0\]: .*\(did you mean startsWith\?\)/)
})

describe('of Permissions with the fields of a grant', () => {
  const OPERATOR = 'system:serviceaccount:chaperone-system:chaperone-operator'
  const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'allow' }]
  const PLAIN = { gatewayRefs: [{ name: 'main' }], rules }
  const GRANT = { ...PLAIN, expiresAt: '2099-01-01T00:00:00Z', maxUses: 2 }
  const OF_GRANT = { name: 'grant-abc', labels: { 'chaperone.dev/grant': 'grt_aBc' } }

  function reviewed(username: string, spec: object, before?: object, metadata: object = { name: 'n' }) {
    const object = (of: object) => ({ ...objectOf('Permission', of), metadata })
    const { refused } = reviewManifest(
      {
        ...{ uid: 'u', operation: before === undefined ? 'CREATE' : 'UPDATE', namespace: 'team', name: 'n' },
        resource: { group: 'chaperone.dev', version: 'v1alpha1', resource: 'permissions' },
        ...{ object: object(spec), userInfo: { username } },
        ...(before === undefined ? {} : { oldObject: object(before) }),
      } as AdmissionRequest,
      { operatorUser: OPERATOR },
    )
    return refused?.message ?? null
  }

  test.each([
    ['both', GRANT],
    ['only an end', { ...PLAIN, expiresAt: GRANT.expiresAt }],
    ['only a number of uses', { ...PLAIN, maxUses: 1 }],
  ])('one with %s is refused to users, with the step to take', (_, spec) => {
    expect(reviewed('ann', spec)).toMatch(/expiresAt and spec\.maxUses, .*Grant for a time/)
    expect(reviewed('ann', spec, PLAIN)).toMatch(/Grant for a time/)
    expect(reviewed(OPERATOR, spec)).toBeNull()
  })

  test('that of a grant is refused to users also without the fields, and changed by the operator', () => {
    expect(reviewed('ann', { ...GRANT, maxUses: 3 }, GRANT, OF_GRANT)).toMatch(/delete the Permission/)
    expect(reviewed('ann', PLAIN, GRANT, OF_GRANT)).toMatch(/delete the Permission/)
    expect(reviewed(OPERATOR, { ...GRANT, maxUses: 3 }, GRANT, OF_GRANT)).toBeNull()
  })

  test('a Permission without a grant loses the fields by an update of a user', () => {
    expect(reviewed('ann', PLAIN, GRANT)).toBeNull()
  })

  test('an update of only the metadata is admitted', () => {
    expect(reviewed('ann', GRANT, GRANT, OF_GRANT)).toBeNull()
  })
})
