import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Pod } from '../../../core/inject/pod.ts'
import type { KubeCall } from '../../../kube/transport.ts'
import { applyGuard } from '../../../operator/guard/apply-guard.ts'
import { guardObjects } from '../../../operator/guard/policies.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { eventually } from '../../support/eventually.ts'
import { gateway } from '../../support/golden-pods.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { clientOf, createNamespace, createPod, refusalOf } from '../../support/kube-objects.ts'
import { agent, governedPod, OPTIONS, PLAIN, prepare, proxy, secure, WAYS } from './bypass-pods.ts'
import { describeGrantPermissions } from './grant-permissions.ts'
import { caConfigMap, type Guard, hardened, token } from './guard-world.ts'
import { describeGvisorRuleSetter } from './gvisor-rule-setter.ts'
import { describePodsWithoutSidecar } from './pods-without-sidecar.ts'
import { describeRunningPods } from './running-pods.ts'
import { describeSandboxObjects } from './sandbox-objects.ts'

describe.skipIf(kubeAssets() === null)(`the guard without a webhook (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let client: KubeClient
  const create = (pod: unknown, namespace = 'team') => refusalOf(client, createPod(namespace, pod))
  const guard: Guard = {
    get client() {
      return client
    },
    create,
  }

  beforeAll(async () => {
    server = await startKubeApiServer()
    client = clientOf(server)
    await createNamespace(client, 'team')
    await createNamespace(client, 'closed', { 'chaperone.dev/inject': 'required' })
    await createNamespace(client, 'chaperone-system')
    const account = { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'agent' } }
    await client.call({ method: 'POST', path: '/api/v1/namespaces/team/serviceaccounts', body: account })
    for (const [name, handler] of [
      ['sandboxed', 'runsc'],
      ['plain', 'runc'],
    ])
      await client.call({
        ...{ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses' },
        body: { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name }, handler },
      })
    await applyGuard(client, guardObjects(OPTIONS), null)
    await eventually('every policy is in force', async () => {
      const bare = { metadata: { name: 'probe' }, spec: PLAIN }
      const answers = await Promise.all([
        refusalOf(client, createPod('closed', bare, { dryRun: 'All' })),
        refusalOf(client, { ...caConfigMap('team'), query: { dryRun: 'All' } }),
        refusalOf(client, token(['chaperone-control-plane'])),
      ])
      return answers.every((answer) => answer?.includes('ValidatingAdmissionPolicy')) ? true : null
    })
  })

  afterAll(async () => {
    client?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
  })

  it('admits an injected pod', async () => {
    expect(await create(governedPod('as-injected'))).toBeNull()
  })

  it.each(WAYS.map(([how, change, field]) => [how, change, field] as const))(
    'refuses a governed pod %s, naming the field',
    async (_, change, field) => {
      const says = await create(governedPod('around', change))
      expect(says).toContain('ValidatingAdmissionPolicy')
      expect(says).toContain(field)
      expect(
        await refusalOf(client, { method: 'GET', path: '/api/v1/namespaces/team/pods/around' }),
      ).toContain('404')
    },
  )

  it('stays within the cost limit for a pod with 40 containers of 20 mounts each', async () => {
    const mounts = Array.from({ length: 19 }, (_, at) => ({ name: 'own', mountPath: `/data/${at}` }))
    const wide = governedPod('wide', (pod) => {
      const first = agent(pod)
      pod.spec.containers = Array.from({ length: 40 }, (_, at) => ({
        ...first,
        name: `agent-${at}`,
        volumeMounts: [...(first.volumeMounts ?? []), ...mounts],
      }))
    })
    expect(await create(wide)).toBeNull()
  })

  it('refuses any pod without a sidecar where the namespace requires one, whatever the pod says', async () => {
    const metadata = { name: 'free', labels: { 'chaperone.dev/inject': 'disabled' } }
    expect(await create({ metadata, spec: PLAIN }, 'closed')).toContain('spec.initContainers')
  })

  it('admits ungoverned pods, except with the token of a proxy', async () => {
    const open = { ...PLAIN, hostNetwork: true }
    expect(await create({ metadata: { name: 'open' }, spec: open })).toBeNull()
    const source = { serviceAccountToken: { audience: 'chaperone-control-plane', path: 't' } }
    const volumes = [{ name: 'chaperone-token', projected: { sources: [source] } }]
    expect(await create({ metadata: { name: 'thief' }, spec: { ...PLAIN, volumes } })).toContain(
      'spec.volumes',
    )
  })

  it('requires the rules container unless the Gateway has interception: proxyEnv', async () => {
    const soft = gateway('team', 'soft', { interception: 'proxyEnv' })
    expect(await create(governedPod('soft', undefined, soft))).toBeNull()
    const other = gateway('team', 'main', { interception: 'proxyEnv' })
    expect(await create(governedPod('not-soft', undefined, other))).toContain('chaperone.dev/layer')
  })

  it('admits a pod without rules under a Gateway with interception: auto only with a RuntimeClass of gVisor', async () => {
    const auto = gateway('team', 'auto', { interception: 'auto' })
    const isolated = (name: string, change?: (pod: Pod) => void, by = auto) =>
      governedPod(name, change, by, {
        ...{ runtimeClassName: 'sandboxed', runtime: 'gvisor', isolation: 'stored' },
      })
    expect(isolated('auto').metadata.labels?.['chaperone.dev/layer']).toBe('IsolatedByNetworkPolicy')
    expect(await create(isolated('auto'))).toBeNull()
    const plain = (pod: Pod) => {
      pod.spec.runtimeClassName = 'plain'
    }
    expect(await create(isolated('auto-runc', plain))).toContain('chaperone.dev/layer')
    const other = gateway('team', 'main', { interception: 'auto' })
    expect(await create(isolated('auto-main', undefined, other))).toContain('chaperone.dev/layer')
    expect(await create(governedPod('auto-captured', undefined, auto))).toBeNull()
  })

  it('admits the address of the control plane, and no other', async () => {
    const addressed = (name: string, value: string) =>
      governedPod(name, (pod) => proxy(pod).env?.push({ name: 'CONTROL_PLANE_ADDRESS', value }))
    expect(await create(addressed('addressed', '10.96.7.7'))).toBeNull()
    expect(await create(addressed('addressed-before', '10.96.7.6'))).toBeNull()
    expect(await create(addressed('elsewhere', '10.96.7.8'))).toContain('CONTROL_PLANE_ADDRESS')
  })

  it('admits the search domains that the injectors set, and none', async () => {
    const searching = (name: string, value: string) =>
      governedPod(name, (pod) => proxy(pod).env?.push({ name: 'SEARCH_DOMAINS', value }))
    expect(await create(searching('searching', 'corp.example,ec2.internal'))).toBeNull()
    expect(await create(searching('searching-elsewhere', 'ec2.internal'))).toBeNull()
    expect(await create(governedPod('searching-none'))).toBeNull()
    expect(await create(searching('searching-part', 'corp.example'))).toContain('SEARCH_DOMAINS')
  })

  it('admits the resource attributes of OpenTelemetry that the injector sets', async () => {
    const described = governedPod('described', (pod) =>
      proxy(pod).env?.push({ name: 'OTEL_RESOURCE_ATTRIBUTES', value: 'k8s.cluster.name=prod-1' }),
    )
    expect(await create(described)).toBeNull()
  })

  it('requires the label of the NetworkPolicy where the Gateway denies inbound connections', async () => {
    const by = gateway('team', 'inward', { inbound: 'deny' })
    expect(await create(governedPod('inward', undefined, by))).toBeNull()
    const unlabelled = (pod: Pod) => {
      const { 'chaperone.dev/inbound': _denied, ...labels } = pod.metadata.labels ?? {}
      Object.assign(pod.metadata, { labels })
    }
    expect(await create(governedPod('unlabelled', unlabelled, by))).toContain('chaperone.dev/inbound')
  })

  describeGvisorRuleSetter(guard)

  it('requires a user other than root under a strict Gateway', async () => {
    const by = gateway('team', 'hard')
    expect(await create(governedPod('root', undefined, by))).toContain('runAsNonRoot')
    const named = governedPod(
      'not-root',
      (pod) => {
        pod.spec.securityContext = { ...pod.spec.securityContext, runAsNonRoot: true, runAsUser: 1000 }
      },
      by,
    )
    expect(await create(named)).toBeNull()
  })

  it('requires a numeric user of every container under a strict Gateway', async () => {
    const by = gateway('team', 'hard')
    const asNonRoot = (pod: Pod) => {
      pod.spec.securityContext = { ...pod.spec.securityContext, runAsNonRoot: true }
    }
    expect(await create(governedPod('of-the-image', asNonRoot, by))).toContain('runAsUser')
    const half = (pod: Pod) => {
      asNonRoot(pod)
      secure(agent(pod), { runAsUser: 1000 })
    }
    expect(await create(governedPod('half', half, by))).toContain('runAsUser')
    const whole = (pod: Pod) => {
      half(pod)
      secure(prepare(pod), { runAsUser: 1000 })
    }
    expect(await create(governedPod('whole', whole, by))).toBeNull()
    const path = '/api/v1/namespaces/team/pods/whole/ephemeralcontainers'
    const debug = (more: object): KubeCall => ({
      ...{ method: 'PATCH', path, contentType: 'application/strategic-merge-patch+json' },
      body: { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox', ...hardened(more) }] } },
    })
    expect(await refusalOf(client, debug({}))).toContain(
      'spec.ephemeralContainers[*].securityContext.runAsUser',
    )
    expect(await refusalOf(client, debug({ runAsUser: 1001 }))).toBeNull()
  })

  it('requires the seccomp profile of the Gateway', async () => {
    const by = gateway('team', 'profiled', {
      agents: {
        allowServiceAccountToken: false,
        startOnlyWithRules: false,
        seccompProfile: 'profiles/agent.json',
      },
    })
    expect(await create(governedPod('profiled', undefined, by))).toBeNull()
    const plain = { seccompProfile: { type: 'RuntimeDefault' } }
    const changes: ReadonlyArray<(pod: Pod) => void> = [
      (pod) => secure(agent(pod), plain),
      (pod) => secure(prepare(pod), plain),
      (pod) => {
        pod.spec.securityContext = { ...pod.spec.securityContext, ...plain }
      },
    ]
    for (const change of changes)
      expect(await create(governedPod('other-profile', change, by))).toContain('profiles/agent.json')
    const debug = (more: object): KubeCall => ({
      ...{ method: 'PATCH', path: '/api/v1/namespaces/team/pods/profiled/ephemeralcontainers' },
      contentType: 'application/strategic-merge-patch+json',
      body: { spec: { ephemeralContainers: [{ name: 'debug', image: 'busybox', ...hardened(more) }] } },
    })
    expect(await refusalOf(client, debug(plain))).toContain('seccompProfile')
    expect(await refusalOf(client, debug({}))).toBeNull()
  })

  describeRunningPods(guard)

  describePodsWithoutSidecar(guard)

  describeSandboxObjects(guard)

  describeGrantPermissions(() => ({ server, client }))

  it('protects the metadata of the injector in a status update', async () => {
    const call = (metadata: object): KubeCall => ({
      ...{ method: 'PATCH', path: '/api/v1/namespaces/team/pods/running/status' },
      ...{ contentType: 'application/merge-patch+json', body: { metadata } },
    })
    for (const metadata of [
      { labels: { 'chaperone.dev/inject': null } },
      { annotations: { 'chaperone.dev/agent': 'other' } },
    ])
      expect(await refusalOf(client, call(metadata))).toContain('only the injector sets')
    expect(await refusalOf(client, call({ labels: { team: 'green' } }))).toBeNull()
  })

  it('refuses to issue the token of a proxy to a user', async () => {
    expect(await refusalOf(client, token(['chaperone-control-plane', 'x']))).toContain('spec.audiences')
    expect(await refusalOf(client, token(['sts.amazonaws.com']))).toBeNull()
  })

  it('reserves the CA bundle of the control plane for the operator', async () => {
    expect(await refusalOf(client, caConfigMap('team'))).toContain('is reserved for the operator')
    expect(await refusalOf(client, { ...caConfigMap('team', 'other') })).toBeNull()
  })

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])(
    'exempts %s, whatever its labels',
    async (name) => {
      const labels = { 'chaperone.dev/inject': 'required' }
      await client.call({
        method: 'PATCH',
        path: `/api/v1/namespaces/${name}`,
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels } },
      })
      expect(await create({ metadata: { name: 'free' }, spec: PLAIN }, name)).toBeNull()
    },
  )

  it('exempts no other namespace whose name begins with kube-', async () => {
    await createNamespace(client, 'kube-tools', { 'chaperone.dev/inject': 'required' })
    expect(await create({ metadata: { name: 'free' }, spec: PLAIN }, 'kube-tools')).toContain(
      'spec.initContainers',
    )
  })

  it('exempts the namespace of Chaperone', async () => {
    expect(await create({ metadata: { name: 'control-plane' }, spec: PLAIN }, 'chaperone-system')).toBeNull()
  })

  it('is idempotent', async () => {
    const list = async () => {
      const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
      const { items } = await client.call<{ items: PolicyStatus[] }>({ method: 'GET', path })
      return items.map(({ metadata }) => [metadata.name, metadata.generation])
    }
    const before = await list()
    await applyGuard(client, guardObjects(OPTIONS), null)
    expect(await list()).toEqual(before)
  })
})

type PolicyStatus = {
  readonly metadata: { readonly name: string; readonly generation: number }
}
