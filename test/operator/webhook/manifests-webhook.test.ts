import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Floors } from '../../../core/crd/gateway/floors.ts'
import { pathOf, RESOURCES } from '../../../operator/kube/objects.ts'
import { createCertificateStore } from '../../../operator/webhook/certificate-store.ts'
import { type Certificates, createCertificates } from '../../../operator/webhook/certificates.ts'
import type { ReviewDeps } from '../../../operator/webhook/review-pod.ts'
import { openWebhookServer, type WebhookServer } from '../../../operator/webhook/server.ts'
import { eventually } from '../../support/eventually.ts'
import { gatewayLookup, INJECT_OPTIONS, NO_RUNTIMES, NO_SANDBOXES } from '../../support/golden-pods.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { GRANT_RULE, OPERATOR_USER, operatorClient } from '../inject/operator-account.ts'
import { type Cluster, type OurKind, openCluster } from '../kube/cluster.ts'

const RULE = { name: 'no', conditions: ['action.type == "codehost.repo.delete"'], decision: 'deny' }
const GOOD = { scope: { actions: ['codehost.*'] }, rules: [RULE] }
const TEST = {
  name: 'deleting is denied',
  action: { type: 'codehost.repo.delete', resource: { provider: 'codehost' } },
  expect: { outcome: 'deny' },
}
const rule = (...conditions: string[]) => ({ ...GOOD, rules: [{ ...RULE, conditions }] })

describe.skipIf(kubeAssets() === null)(`our own kinds at admission (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let cluster: Cluster
  let certificates: Certificates
  let webhook: WebhookServer
  const failures: unknown[] = []
  const platformNamespaces = new Set(['platform'])
  const floors = Floors.parse({
    enforcementLevel: 'full_enforce',
    unmatchedHosts: 'deny',
    failurePolicy: { writesAfterSeconds: 120 },
    hardening: 'standard',
  })
  let reviews = 0
  const review: ReviewDeps = {
    gateways: gatewayLookup(undefined),
    namespaceLabels: () => undefined,
    agentElsewhere: () => undefined,
    sandboxes: NO_SANDBOXES,
    runtimes: NO_RUNTIMES,
    settings: INJECT_OPTIONS,
    uids: { fresh: () => 1_950_000_000, isIssued: () => false },
    onRefused: () => undefined,
  }

  beforeAll(async () => {
    server = await startKubeApiServer()
    cluster = openCluster(server)
    await cluster.installCrds()
    await cluster.namespace('chaperone-system')
    await cluster.namespace('team')
    await cluster.namespace('platform')
    // Accepted before there was a webhook.
    await cluster.create('Policy', 'team', 'older', rule('action.efect == "write"'))
    await cluster.create('Gateway', 'team', 'main', {})
    await cluster.create('Gateway', 'team', 'mild', { enforcementLevel: 'monitor' })
    let url = ''
    certificates = await createCertificates({
      port: createCertificateStore(cluster.client, {
        target: () => ({ url }),
        ownNamespace: 'chaperone-system',
      }),
      hosts: ['127.0.0.1'],
      nowMs: Date.now,
      onLeaf: (leaf) => webhook.useLeaf(leaf),
      onFailure: (error) => failures.push(error),
    })
    webhook = await openWebhookServer({
      ...review,
      host: '127.0.0.1',
      port: 0,
      leaf: certificates.leaf,
      isReady: () => false,
      floorRules: { floors, platformNamespaces },
      operatorUser: OPERATOR_USER,
      onReview: () => {
        reviews += 1
      },
      onFailure: (error) => failures.push(error),
    })
    url = `https://127.0.0.1:${webhook.port}`
    await certificates.publish()
    await eventually('the webhook is asked', async () => {
      const said = await refusal('Policy', 'probe', rule('nope'))
      if (said === null) await cluster.remove('Policy', 'team', 'probe')
      return said?.includes('manifests.chaperone.dev') ? true : null
    })
  })

  afterAll(async () => {
    certificates?.[Symbol.dispose]()
    await webhook?.[Symbol.asyncDispose]()
    cluster?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
    expect(failures).toEqual([])
  })

  const said = (work: Promise<unknown>) =>
    work.then(
      () => null,
      (error: unknown) => String((error as Error).message),
    )
  const refusal = (kind: OurKind, name: string, spec: object) =>
    said(cluster.create(kind, 'team', name, spec))

  test.each([
    [
      'a condition that is no CEL',
      rule('action.type =='),
      /rules\[0\]\.conditions\[0\]: rule "no", condition 1, column/,
    ],
    [
      'an unknown field of a fact',
      rule('action.efect == "write"'),
      /has no field "efect" \(did you mean effect\?\)/,
    ],
    ['an unknown fact', rule('actoin.type == "x"'), /Unknown variable: actoin \(did you mean action\?\)/],
    [
      'an unknown function',
      rule('action.type.startWith("x")'),
      /startWith\(\) \(did you mean startsWith\?\)/,
    ],
    [
      'a mistake in the second line',
      rule('action.type == "x" ||\n  action.efect == "write"'),
      /line 2, column 3/,
    ],
    [
      'a mistake in the second condition',
      rule('true', 'action.efect == "x"'),
      /conditions\[1\]: .*condition 2/,
    ],
    [
      'a test that fails',
      { ...GOOD, rules: [{ ...RULE, decision: 'allow' }], tests: [TEST] },
      /the test "deleting is denied" fails: expected deny, got allow/,
    ],
    ['a type that is no boolean', rule('1 + 1'), /has the type int/],
    ['nested comprehensions', rule('[1].all(x, [2].exists(y, y > x))'), /cannot be nested/],
    ['mode monitor and a mistake', { ...rule('nope'), mode: 'monitor' }, /Unknown variable: nope/],
  ])('a Policy with %s is refused with its place', async (_name, spec, wanted) => {
    expect(await refusal('Policy', 'refused', spec)).toMatch(wanted)
    expect(await said(cluster.get('Policy', 'team', 'refused'))).toContain('not found')
  })

  test('a valid Policy is stored; a later invalid update is refused', async () => {
    expect(await refusal('Policy', 'good', { ...GOOD, tests: [TEST] })).toBeNull()
    expect(await said(cluster.patch('Policy', 'team', 'good', { spec: rule('nope') }))).toContain('nope')
    expect(await cluster.get('Policy', 'team', 'good')).toMatchObject({ spec: { rules: [RULE] } })
  })

  test('an unknown action is a warning', async () => {
    expect(
      await refusal('Policy', 'warned', { ...GOOD, scope: { actions: ['codehost.pr.mrege'] } }),
    ).toBeNull()
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.pr.mrege', decision: 'allow' }]
    expect(await refusal('Permission', 'warned', { gatewayRefs: [{ name: 'main' }], rules })).toBeNull()
  })

  test('a Permission with the fields of a grant is refused to users, and the operator writes it', async () => {
    const rules = [{ connectorType: 'codehost', actionPattern: 'codehost.pr.merge', decision: 'allow' }]
    const spec = { gatewayRefs: [{ name: 'main' }], rules, expiresAt: '2099-01-01T00:00:00Z', maxUses: 2 }
    expect(await refusal('Permission', 'granted', spec)).toContain('Grant for a time')
    expect(await said(cluster.get('Permission', 'team', 'granted'))).toContain('not found')
    using operator = await operatorClient(server, cluster.client, [GRANT_RULE])
    const body = {
      ...{ apiVersion: 'chaperone.dev/v1alpha1', kind: 'Permission' },
      ...{ metadata: { name: 'granted', namespace: 'team' }, spec },
    }
    const path = pathOf(RESOURCES.Permission, 'team')
    await eventually('the rights of the operator are in force', async () =>
      (await said(operator.call({ method: 'POST', path, body }))) === null ? true : null,
    )
    const change = { spec: { maxUses: 50 } }
    expect(await said(cluster.patch('Permission', 'team', 'granted', change))).toContain('Grant for a time')
    expect(await said(cluster.remove('Permission', 'team', 'granted'))).toBeNull()
  })

  test('a stored Policy that no longer compiles can be annotated and deleted, but its spec cannot change', async () => {
    const annotate = { metadata: { annotations: { note: 'x' } } }
    expect(await said(cluster.patch('Policy', 'team', 'older', annotate))).toBeNull()
    expect(await said(cluster.patch('Policy', 'team', 'older', { spec: { priority: 7 } }))).toContain('efect')
    expect(await said(cluster.remove('Policy', 'team', 'older'))).toBeNull()
  })

  test('a Policy above the limits of the webhook is stored', async () => {
    const many = { ...GOOD, rules: [{ ...RULE, conditions: Array(16).fill('nope') }] }
    const large = {
      ...many,
      rules: Array.from({ length: 20 }, (_, i) => ({
        ...RULE,
        name: `r${i}`,
        conditions: Array(16).fill(`${'true || '.repeat(20)}true`),
      })),
    }
    expect(await refusal('Policy', 'large', large)).toBeNull()
    expect(await refusal('Policy', 'many', many)).toContain('nope')
  })

  test.each([
    ['enforcementLevel', { enforcementLevel: 'monitor' }],
    ['enforcementLevel', { enforcementLevel: 'enforce_high_risk' }],
    ['unmatchedHosts', { egress: { unmatchedHosts: 'tunnel' } }],
    ['failurePolicy.writesAfterSeconds', { failurePolicy: { writesAfterSeconds: 121 } }],
  ])(
    'a Gateway below floors.%s is refused, new or changed; one of the platform is not',
    async (floor, spec) => {
      expect(await refusal('Gateway', 'below', spec)).toContain(
        `weaker than the minimum floors.${floor} of this installation`,
      )
      expect(await said(cluster.patch('Gateway', 'team', 'main', { spec }))).toContain(`floors.${floor}`)
      expect(await said(cluster.create('Gateway', 'platform', 'any', spec))).toBeNull()
      expect(await said(cluster.remove('Gateway', 'platform', 'any'))).toBeNull()
    },
  )

  test('a Gateway at or above the floors is stored', async () => {
    const spec = {
      enforcementLevel: 'full_enforce',
      failurePolicy: { highRiskAfterSeconds: 0, writesAfterSeconds: 0 },
      hardening: 'strict',
    }
    expect(await refusal('Gateway', 'above', spec)).toBeNull()
  })

  test('a Gateway that is older than the floor can change other fields, its kill switch, and its level upwards only', async () => {
    const patch = (spec: object) => said(cluster.patch('Gateway', 'team', 'mild', { spec }))
    expect(await patch({ rateLimit: { requestsPerMinute: 7 } })).toBeNull()
    expect(await patch({ egress: { unmatchedHosts: 'tunnel' } })).toContain('floors.unmatchedHosts')
    expect(await patch({ enforcementLevel: 'enforce_high_risk' })).toContain('floors.enforcementLevel')
    expect(await patch({ killSwitch: { active: true } })).toBeNull()
    expect(await patch({ killSwitch: { active: false } })).toBeNull()
    expect(await patch({ enforcementLevel: 'full_enforce' })).toBeNull()
    expect(await patch({ enforcementLevel: 'monitor' })).toContain('floors.enforcementLevel')
  })

  test('a change of the kill switch together with other fields is validated', async () => {
    const both = { killSwitch: { active: false }, enforcementLevel: 'monitor' }
    expect(await said(cluster.patch('Gateway', 'team', 'main', { spec: both }))).toContain(
      'floors.enforcementLevel',
    )
    const removed = { killSwitch: null, egress: { unmatchedHosts: 'tunnel' } }
    expect(await said(cluster.patch('Gateway', 'team', 'main', { spec: removed }))).toContain(
      'floors.unmatchedHosts',
    )
  })

  test('an update of only the kill switch skips the webhook, and succeeds without it', async () => {
    const withKillSwitch = (active: boolean) =>
      cluster.patch('Gateway', 'team', 'main', { spec: { killSwitch: { active } } })
    const before = reviews
    expect(await said(withKillSwitch(true))).toBeNull()
    expect(reviews).toBe(before)
    expect(
      await said(cluster.patch('Gateway', 'team', 'main', { spec: { rateLimit: { requestsPerMinute: 7 } } })),
    ).toBeNull()
    // Twice where the API server began with an older copy of the object and found that when it stored the change.
    expect(reviews).toBeGreaterThan(before)
    await webhook[Symbol.asyncDispose]()
    expect(await said(withKillSwitch(false))).toBeNull()
    expect(await said(withKillSwitch(true))).toBeNull()
    // The second line stands behind it.
    expect(await refusal('Policy', 'unseen', rule('nope'))).toBeNull()
  })
})
