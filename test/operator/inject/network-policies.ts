import { readFile } from 'node:fs/promises'
import { expect, it } from 'vitest'
import { governedPod } from '../../../operator/cluster/pods/governed-pods.ts'
import { eventually } from '../../support/eventually.ts'
import { createNamespace } from '../../support/kube-objects.ts'
import type { AdmissionWorld, AuditEvent } from './admission-world.ts'
import { OPERATOR_USER } from './operator-account.ts'

/** Tests of the NetworkPolicies of governed pods. */
export function describeNetworkPolicies(world: AdmissionWorld): void {
  it('keeps the NetworkPolicy of governed pods of agent-sandbox where there are SandboxTemplates', async () => {
    const resource = '/apis/networking.k8s.io/v1'
    const path = `${resource}/namespaces/team/networkpolicies/chaperone-agent-sandbox`
    type Policy = { metadata: { uid: string; resourceVersion: string }; spec: { podSelector: object } }
    const read = () => world.client.call<Policy>({ method: 'GET', path }).catch(() => null)
    const all = async () => {
      const { items } = await world.client.call<{ items: { metadata: { namespace: string } }[] }>({
        ...{ method: 'GET', path: `${resource}/networkpolicies` },
      })
      return items.map(({ metadata }) => metadata.namespace)
    }
    await createNamespace(world.client, 'plain')
    world.templates = new Set(['team', 'plain'])
    const first = await eventually('it is written', read)
    expect(await all()).toEqual(['team'])
    expect(first.spec).toEqual({
      podSelector: {
        matchLabels: { 'chaperone.dev/inject': 'injected' },
        matchExpressions: [{ key: 'agents.x-k8s.io/sandbox-template-ref-hash', operator: 'Exists' }],
      },
      policyTypes: ['Egress'],
      egress: [
        {
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
        },
        {
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
        },
        {
          to: [{ ipBlock: { cidr: '10.96.0.10/32' } }],
          ports: [
            { protocol: 'UDP', port: 53 },
            { protocol: 'TCP', port: 53 },
          ],
        },
      ],
    })
    const body = { spec: { podSelector: { matchLabels: { other: 'yes' } } } }
    await world.client.call({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    await eventually('a change is undone', async () => {
      const now = await read()
      return JSON.stringify(now?.spec) === JSON.stringify(first.spec) ? true : null
    })
    await world.client.call({ method: 'DELETE', path })
    await eventually('it is back', async () => {
      const now = await read()
      return now !== null && now.metadata.uid !== first.metadata.uid ? true : null
    })
    const writes = async () => {
      const lines = (await readFile(world.server.auditLogPath, 'utf8')).trim().split('\n')
      const events = lines.map((line) => JSON.parse(line) as AuditEvent)
      return events.filter(
        ({ verb, objectRef, user }) =>
          user.username === OPERATOR_USER && verb === 'patch' && objectRef?.resource === 'networkpolicies',
      ).length
    }
    const before = await writes()
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(await writes()).toBe(before)
    world.templates = new Set()
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
  })

  it('keeps the NetworkPolicy of pods whose Gateway denies inbound connections, where such a Gateway admits pods', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-inbound'
    type Policy = { metadata: { uid: string }; spec: object }
    const read = () => world.client.call<Policy>({ method: 'GET', path }).catch(() => null)
    const policies = async () => {
      const named = { fieldSelector: 'metadata.name=chaperone-inbound' }
      const { items } = await world.client.call<{ items: { metadata: { namespace: string } }[] }>({
        ...{ method: 'GET', path: '/apis/networking.k8s.io/v1/networkpolicies', query: named },
      })
      return items.map(({ metadata }) => metadata.namespace)
    }
    expect(await policies()).toEqual([])
    world.gateways = [{ ...world.main, spec: { ...world.main.spec, inbound: 'deny' } }]
    const first = await eventually('it is written', read)
    expect(await policies()).toEqual(['team'])
    expect(first.spec).toEqual({
      podSelector: { matchLabels: { 'chaperone.dev/inbound': 'deny' } },
      policyTypes: ['Ingress'],
    })
    const body = { spec: { ingress: [{}] } }
    await world.client.call({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    await eventually('a rule of another client is taken back', async () =>
      JSON.stringify((await read())?.spec) === JSON.stringify(first.spec) ? true : null,
    )
    await world.client.call({ method: 'DELETE', path })
    await eventually('it is back', async () => {
      const now = await read()
      return now !== null && now.metadata.uid !== first.metadata.uid ? true : null
    })
    world.gateways = [world.main]
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
  })

  it('keeps the NetworkPolicy of pods with proxyEnv, where a Gateway does not capture every pod', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-proxy-env'
    type Policy = { spec: { podSelector: object; egress: { to: object[]; ports: object[] }[] } }
    const read = () => world.client.call<Policy>({ method: 'GET', path }).catch(() => null)
    expect(await read()).toBeNull()
    world.gateways = [{ ...world.main, spec: { ...world.main.spec, interception: 'auto' } }]
    const { spec } = await eventually('it is written', read)
    expect(spec.podSelector).toEqual({
      matchLabels: { 'chaperone.dev/inject': 'injected' },
      matchExpressions: [
        {
          ...{ key: 'chaperone.dev/layer', operator: 'In' },
          values: ['Cooperative', 'IsolatedByNetworkPolicy'],
        },
      ],
    })
    expect(spec.egress[0]?.ports).toEqual([{ protocol: 'TCP', port: 3443 }])
    expect(spec.egress.at(-1)).toEqual({
      to: [{ ipBlock: { cidr: '198.51.100.0/24' } }],
      ports: [{ protocol: 'TCP', port: 443 }],
    })
    world.arePodsSynced = false
    await world.reconciled()
    expect(await read()).not.toBeNull()
    world.arePodsSynced = true
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
  })

  it('keeps the NetworkPolicy of pods with proxyEnv while such a pod runs, whatever the Gateways say by now', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-proxy-env'
    const read = () =>
      world.client.call<{ metadata: { uid: string } }>({ method: 'GET', path }).catch(() => null)
    const isIsolated = () => (world.component.isIsolated?.('team') === true ? true : null)
    expect([await read(), isIsolated()]).toEqual([null, null])
    world.gateways = [{ ...world.main, spec: { ...world.main.spec, interception: 'proxyEnv' } }]
    const first = await eventually('it is written', read)
    await eventually('the watch has it', isIsolated)
    world.podIndex.set(
      'team/soft',
      governedPod({
        metadata: {
          ...{ namespace: 'team', name: 'soft', uid: 'soft', resourceVersion: '1' },
          labels: { 'chaperone.dev/layer': 'IsolatedByNetworkPolicy' },
          annotations: { 'chaperone.dev/gateway': 'main' },
        },
      }),
    )
    await world.reconciled()
    expect((await read())?.metadata.uid).toBe(first.metadata.uid)
    world.isolation.length = 0
    await world.client.call({ method: 'DELETE', path })
    await eventually('it is back', async () => {
      const now = await read()
      return now !== null && now.metadata.uid !== first.metadata.uid ? true : null
    })
    // For the Gateway's status: once without the policy, and once with it again.
    await eventually('the Gateway of the pod is reported', () => (world.isolation.length >= 2 ? true : null))
    expect(new Set(world.isolation.flat())).toEqual(new Set(['team/main']))
    world.podIndex.set('team/soft', undefined)
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
    await eventually('the watch saw it', () => (isIsolated() === null ? true : null))
  })
}
