import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ChaperoneError } from '../../../core/errors.ts'
import { egressCause } from '../../../operator/network/egress-cause.ts'
import type { EgressPolicy } from '../../../operator/network/egress-rules.ts'

const SIGNAL = new AbortController().signal
const CONTROL_PLANE = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'chaperone-system' } },
      podSelector: {
        matchLabels: {
          'app.kubernetes.io/component': 'control-plane',
          'app.kubernetes.io/part-of': 'chaperone',
        },
      },
    },
  ],
  ports: [{ protocol: 'TCP', port: 3443 }],
}
const DNS = {
  to: [
    {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'kube-system' } },
      podSelector: { matchLabels: { 'k8s-app': 'kube-dns' } },
    },
  ],
  ports: [
    { protocol: 'UDP', port: 53 },
    { protocol: 'TCP', port: 53 },
  ],
}
type Spec = NonNullable<EgressPolicy['spec']>

/** The cause of a pod with the label `app: web` in namespace `team`, which has the policies. */
async function causeOf(
  specs: readonly Spec[],
  dnsPods: readonly object[] = [dnsPod],
): Promise<string | null> {
  const items = (path: string): readonly object[] => {
    if (path.endsWith('/networkpolicies'))
      return specs.map((spec, index) => ({ metadata: { name: `policy-${index}` }, spec }))
    return path.includes('kube-system') ? dnsPods : [controlPlanePod]
  }
  const client = {
    call: async ({ path }: { path: string }) =>
      path.endsWith('/pods/web-0')
        ? { metadata: { name: 'web-0', labels: { app: 'web' } } }
        : { metadata: { resourceVersion: '1' }, items: items(path) },
  }
  return egressCause(
    {
      client: client as never,
      namespaces: { labelsOf: (name) => ({ 'kubernetes.io/metadata.name': name }) },
      ownNamespace: 'chaperone-system',
      dns: {
        resolvers: ['10.96.0.10'],
        pods: { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
      },
    },
    { namespace: 'team', name: 'web-0' },
    SIGNAL,
  )
}
const controlPlanePod = {
  metadata: { labels: { ...CONTROL_PLANE.to[0]?.podSelector.matchLabels, 'pod-template-hash': 'x' } },
  status: { podIP: '10.0.0.7' },
}
const dnsPod = { metadata: { labels: { 'k8s-app': 'kube-dns' } }, status: { podIP: '10.0.0.8' } }
/** The default policy of agent-sandbox: public addresses only. */
const PUBLIC = { to: [{ ipBlock: { cidr: '0.0.0.0/0', except: ['10.0.0.0/8'] } }] }

describe('the cause of a missing connection', () => {
  test('is a policy that selects the pod, with a rule whose addition is the remedy', async () => {
    const cause = await causeOf([{ podSelector: {}, policyTypes: ['Egress'], egress: [PUBLIC] }])
    expect(cause).toContain(
      'NetworkPolicy team/policy-0 limits the egress of the pod, and admits no connection to the control plane or DNS',
    )
    const added = parse(cause?.split('spec.egress:\n')[1] ?? '') as Spec['egress'] & object
    expect(added).toEqual([CONTROL_PLANE, DNS])
    expect(
      await causeOf([{ podSelector: {}, policyTypes: ['Egress'], egress: [PUBLIC, ...added] }]),
    ).toBeNull()
    // Both the text of the Event and the rule fit into an Event.
    expect(cause?.length).toBeLessThan(850)
  })

  test.each<[string, readonly Spec[], string]>([
    ['DNS alone', [{ egress: [CONTROL_PLANE] }], 'no connection to DNS. Add'],
    ['the control plane alone', [{ egress: [DNS] }], 'no connection to the control plane. Add'],
    [
      'DNS by TCP',
      [{ egress: [CONTROL_PLANE, { ...DNS, ports: [{ protocol: 'UDP', port: 53 }] }] }],
      'no connection to DNS. Add',
    ],
    [
      'the port of the Service instead of that of the pods',
      [{ egress: [{ ...CONTROL_PLANE, ports: [{ port: 443 }] }, DNS] }],
      'no connection to the control plane. Add',
    ],
    [
      'the control plane in the namespace of the pod',
      [{ egress: [{ ...CONTROL_PLANE, to: [{ podSelector: {} }] }, DNS] }],
      'no connection to the control plane. Add',
    ],
  ])('names what is missing: %s', async (_what, specs, wanted) => {
    expect(await causeOf(specs)).toContain(wanted)
  })

  test.each<[string, readonly Spec[]]>([
    ['no policy', []],
    ['policies for other pods', [{ podSelector: { matchLabels: { app: 'other' } }, egress: [] }]],
    [
      'policies for pods without a label',
      [{ podSelector: { matchExpressions: [{ key: 'app', operator: 'DoesNotExist' }] }, egress: [] }],
    ],
    ['policies of ingress', [{ podSelector: {}, policyTypes: ['Ingress'] }, { podSelector: {} }]],
    ['a rule for everything', [{ egress: [{}] }]],
    ['rules of several policies', [{ egress: [CONTROL_PLANE] }, { egress: [DNS] }]],
    ['a range of addresses and ports', [{ egress: [{ to: [{ ipBlock: { cidr: '10.0.0.0/24' } }] }] }]],
    [
      'all namespaces',
      [
        {
          egress: [
            { to: [{ namespaceSelector: {} }], ports: [{ port: 1, endPort: 9_999 }, { protocol: 'UDP' }] },
          ],
        },
      ],
    ],
  ])('is none with %s', async (_what, specs) => {
    expect(await causeOf(specs)).toBeNull()
  })

  test('is not sought for a pod that no longer exists', async () => {
    const call = async () => {
      throw new ChaperoneError('not_found')
    }
    const dns = { resolvers: [], pods: { namespace: 'kube-system', labels: {} } }
    const deps = { client: { call }, namespaces: { labelsOf: () => ({}) }, ownNamespace: 'x', dns }
    await expect(egressCause(deps, { namespace: 'team', name: 'gone' }, SIGNAL)).rejects.toMatchObject({
      code: 'not_found',
    })
  })

  test('is judged by the address of a DNS server without pods', async () => {
    const direct = { to: [{ ipBlock: { cidr: '10.96.0.10/32' } }], ports: DNS.ports }
    expect(await causeOf([{ egress: [CONTROL_PLANE, direct] }], [])).toBeNull()
    expect(await causeOf([{ egress: [CONTROL_PLANE] }], [])).toContain('no connection to DNS. Add')
  })
})
