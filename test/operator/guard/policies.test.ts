import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Pod } from '../../../core/inject/pod.ts'
import type { KubeCall } from '../../../kube/transport.ts'
import { applyGuard } from '../../../operator/guard/apply-guard.ts'
import { guardObjects } from '../../../operator/guard/policies.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { pathOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { gateway } from '../../support/golden-pods.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { clientOf, createNamespace, createPod, refusalOf } from '../../support/kube-objects.ts'
import {
  CLAIM_DEFINITION,
  SANDBOX_DEFINITION,
  TEMPLATE_DEFINITION,
} from '../../support/sandbox-definitions.ts'

import {
  agent,
  governedPod,
  OPTIONS,
  PLAIN,
  prepare,
  proxy,
  rules,
  secure,
  UID,
  WAYS,
} from './bypass-pods.ts'

describe.skipIf(kubeAssets() === null)(`the guard without a webhook (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let client: KubeClient
  const create = (pod: unknown, namespace = 'team') => refusalOf(client, createPod(namespace, pod))

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
    await eventually(
      'every policy is in force',
      async () => {
        const bare = { metadata: { name: 'probe' }, spec: PLAIN }
        const answers = await Promise.all([
          refusalOf(client, createPod('closed', bare, { dryRun: 'All' })),
          refusalOf(client, { ...authorities('team'), query: { dryRun: 'All' } }),
          refusalOf(client, token(['chaperone-control-plane'])),
        ])
        return answers.every((answer) => answer?.includes('ValidatingAdmissionPolicy')) ? true : null
      },
      30_000,
    )
  }, 120_000)

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

  it('requires the label of the NetworkPolicy where the Gateway denies inbound connections', async () => {
    const by = gateway('team', 'inward', { inbound: 'deny' })
    expect(await create(governedPod('inward', undefined, by))).toBeNull()
    const unlabelled = (pod: Pod) => {
      const { 'chaperone.dev/inbound': _denied, ...labels } = pod.metadata.labels ?? {}
      Object.assign(pod.metadata, { labels })
    }
    expect(await create(governedPod('unlabelled', unlabelled, by))).toContain('chaperone.dev/inbound')
  })

  describe('the rule setter of gVisor', () => {
    const sandboxed = (name: string, change?: (pod: Pod) => void) =>
      governedPod(name, change, undefined, { runtimeClassName: 'sandboxed', runtime: 'gvisor' })

    it('is admitted with a RuntimeClass of gVisor, whose pods may also have that of runc', async () => {
      expect(await create(sandboxed('sandboxed'))).toBeNull()
      expect(
        await create(
          governedPod('as-runc', (pod) => {
            pod.spec.runtimeClassName = 'sandboxed'
          }),
        ),
      ).toBeNull()
    })

    it.each<[string, (pod: Pod) => void, string]>([
      ['without a RuntimeClass', (pod) => void delete pod.spec.runtimeClassName, 'chaperone-rules.command'],
      [
        'with a RuntimeClass of runc',
        (pod) => {
          pod.spec.runtimeClassName = 'plain'
        },
        'chaperone-rules.command',
      ],
      [
        'for another user',
        (pod) => {
          rules(pod)['command'] = ['/bin/sh', '/etc/chaperone/iptables.sh', '1000']
        },
        'chaperone-rules.command',
      ],
      [
        'with another program',
        (pod) => {
          rules(pod)['command'] = ['/bin/sh', '-c', 'true', String(UID)]
        },
        'chaperone-rules.command',
      ],
      [
        'with one more capability',
        (pod) =>
          secure(rules(pod), { capabilities: { drop: ['ALL'], add: ['NET_ADMIN', 'NET_RAW', 'SETUID'] } }),
        'chaperone-rules.securityContext',
      ],
      [
        'as privileged',
        (pod) => secure(rules(pod), { privileged: true, allowPrivilegeEscalation: true }),
        'chaperone-rules.securityContext',
      ],
      [
        'with variables',
        (pod) => {
          rules(pod).env = [{ name: 'LD_PRELOAD', value: '/own/evil.so' }]
        },
        'chaperone-rules: must have no variables',
      ],
      [
        'with a volume of the author',
        (pod) => {
          rules(pod).volumeMounts = [{ name: 'own', mountPath: '/usr/sbin' }]
        },
        'chaperone-rules: must have no variables',
      ],
      [
        'with a proxy that counts on redirected IPv6',
        (pod) => {
          proxy(pod).env = proxy(pod).env?.filter(({ name }) => name !== 'IPV6_CLOSED') ?? []
        },
        'IPV6_CLOSED',
      ],
    ])('is refused %s', async (_, change, field) => {
      expect(await create(sandboxed('around', change))).toContain(field)
    })

    it('is no reason for root in the rule setter of runc, or for a proxy that does not check IPv6', async () => {
      const asRoot = (pod: Pod) => {
        pod.spec.runtimeClassName = 'sandboxed'
        secure(rules(pod), { runAsUser: 0, runAsNonRoot: false })
      }
      expect(await create(governedPod('as-root', asRoot))).toContain('chaperone-rules.securityContext')
      const unchecked = (pod: Pod) => proxy(pod).env?.push({ name: 'IPV6_CLOSED', value: 'true' })
      expect(await create(governedPod('unchecked', unchecked))).toContain('IPV6_CLOSED')
    })
  })

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

  describe('of a running pod', () => {
    const path = '/api/v1/namespaces/team/pods/running'
    const patch = (body: object, subresource = ''): KubeCall => ({
      method: 'PATCH',
      path: `${path}${subresource}`,
      contentType: 'application/strategic-merge-patch+json',
      body,
    })
    beforeAll(async () => {
      expect(await create(governedPod('running'))).toBeNull()
    })

    it.each(['chaperone-proxy', 'chaperone-rules'])('keeps the image of %s', async (name) => {
      const says = await refusalOf(client, patch({ spec: { initContainers: [{ name, image: 'mine' }] } }))
      expect(says).toContain('spec.initContainers[*].image')
    })

    it('refuses another image for a container whose user the image chooses', async () => {
      for (const [list, name] of [
        ['containers', 'agent'],
        ['initContainers', 'prepare'],
      ] as const) {
        const says = await refusalOf(client, patch({ spec: { [list]: [{ name, image: 'mine' }] } }))
        expect(says).toContain(`spec.${list}[*].image`)
        expect(says).toContain('set securityContext.runAsUser')
      }
    })

    it('lets the image of a container with a numeric user change', async () => {
      expect(
        await create(
          governedPod('numeric', (pod) => {
            secure(agent(pod), { runAsUser: 1000 })
          }),
        ),
      ).toBeNull()
      const body = { spec: { containers: [{ name: 'agent', image: 'node:25' }] } }
      const call = { ...patch(body), path: '/api/v1/namespaces/team/pods/numeric' }
      expect(await refusalOf(client, call)).toBeNull()
    })

    it('keeps the resources of the proxy, and lets those of the agent change', async () => {
      const resources = { limits: { memory: '8Mi' }, requests: { memory: '8Mi' } }
      const says = await refusalOf(
        client,
        patch({ spec: { initContainers: [{ name: 'chaperone-proxy', resources }] } }, '/resize'),
      )
      expect(says).toContain('spec.initContainers[*].resources')
    })

    it.each([
      ['labels', 'chaperone.dev/inject'],
      ['labels', 'chaperone.dev/layer'],
      ['labels', 'chaperone.dev/inbound'],
      ['annotations', 'chaperone.dev/proxy-uid'],
      ['annotations', 'chaperone.dev/agent'],
      ['annotations', 'chaperone.dev/gateway'],
      ['annotations', 'chaperone.dev/injected'],
    ])('keeps its %s %s, also in a write of its status', async (map, key) => {
      // The pod has no label about inbound connections, so its removal changes nothing.
      for (const value of key.endsWith('/inbound') ? ['deny'] : [null, 'other'])
        for (const subresource of ['', '/status'])
          expect(
            await refusalOf(client, patch({ metadata: { [map]: { [key]: value } } }, subresource)),
          ).toContain('metadata:')
    })

    it('names the key, its old and its new value, and the remedy', async () => {
      const says = await refusalOf(
        client,
        patch({ metadata: { annotations: { 'chaperone.dev/agent': 'x' } } }),
      )
      expect(says).toContain('metadata.annotations[chaperone.dev/agent] from "running" to "x"')
      expect(says).toContain('delete the pod (of a Sandbox: the Sandbox)')
    })

    it('lets another spelling of the same Gateway', async () => {
      for (const spelling of ['team/main', 'main'])
        expect(
          await refusalOf(
            client,
            patch({ metadata: { annotations: { 'chaperone.dev/gateway': spelling } } }),
          ),
        ).toBeNull()
      const other = patch({ metadata: { annotations: { 'chaperone.dev/gateway': 'other/main' } } })
      expect(await refusalOf(client, other)).toContain(
        'metadata.annotations[chaperone.dev/gateway] from "main" to "other/main"',
      )
    })

    it('allows changes of other labels', async () => {
      expect(await refusalOf(client, patch({ metadata: { labels: { team: 'blue' } } }))).toBeNull()
    })

    it.each([
      ['keeps capabilities', { securityContext: { allowPrivilegeEscalation: false } }, 'capabilities.drop'],
      ['may gain privileges', {}, 'allowPrivilegeEscalation'],
      ['is the user of the proxy', hardened({ runAsUser: UID }), 'runAsUser'],
      [
        'looks into the proxy',
        { ...hardened({}), targetContainerName: 'chaperone-proxy' },
        'targetContainerName',
      ],
      [
        'mounts the token',
        { ...hardened({}), volumeMounts: [{ name: 'chaperone-token', mountPath: '/t' }] },
        'volumeMounts',
      ],
    ])('refuses a debug container that %s', async (_, more, field) => {
      const container = { name: 'debug', image: 'busybox', ...more }
      const says = await refusalOf(
        client,
        patch({ spec: { ephemeralContainers: [container] } }, '/ephemeralcontainers'),
      )
      expect(says).toContain('spec.ephemeralContainers[*]')
      expect(says).toContain(field)
    })

    it('admits a debug container without more rights than the agent', async () => {
      const container = { name: 'shell', image: 'busybox', targetContainerName: 'agent', ...hardened({}) }
      expect(
        await refusalOf(
          client,
          patch({ spec: { ephemeralContainers: [container] } }, '/ephemeralcontainers'),
        ),
      ).toBeNull()
    })

    it.each(['exec', 'attach'])('refuses %s into the sidecar', async (verb) => {
      const call = (container: string): KubeCall => ({
        method: 'POST',
        path: `${path}/${verb}`,
        query: { container, command: 'sh', stdout: true },
      })
      for (const name of ['chaperone-proxy', 'chaperone-rules'])
        expect(await refusalOf(client, call(name))).toContain(
          'exec and attach are not allowed for the sidecar',
        )
      // There is no node to run it on; what counts is that admission had nothing against it.
      expect(await refusalOf(client, call('agent'))).not.toContain('ValidatingAdmissionPolicy')
    })
  })

  describe('of a pod that never had a sidecar', () => {
    const INJECTED = JSON.stringify({ gateway: 'team/main', agent: 'agent', layer: 'Captured' })
    const LABEL = { 'chaperone.dev/inject': 'injected' }
    const path = '/api/v1/namespaces/team/pods/never'
    const patch = (metadata: object, subresource = ''): KubeCall => ({
      method: 'PATCH',
      path: `${path}${subresource}`,
      contentType: 'application/merge-patch+json',
      body: { metadata },
    })
    beforeAll(async () => {
      const spec = { ...PLAIN, initContainers: [{ name: 'prepare', image: 'busybox' }] }
      expect(await create({ metadata: { name: 'never' }, spec })).toBeNull()
      const named = { ...PLAIN, initContainers: [{ name: 'chaperone-proxy', image: 'busybox' }] }
      expect(await create({ metadata: { name: 'named' }, spec: named })).toBeNull()
    })

    it('gets no Gateway later, and no other one', async () => {
      const named = (name: string | null) => ({ annotations: { 'chaperone.dev/gateway': name } })
      for (const subresource of ['', '/status']) {
        const says = await refusalOf(client, patch(named('main'), subresource))
        expect(says).toContain('the pod has no sidecar, and only a new pod gets one')
        expect(says).toContain('metadata.annotations[chaperone.dev/gateway] from "" to "main"')
        expect(says).toContain('Delete the pod')
      }
      expect(await refusalOf(client, patch({ labels: { team: 'blue' } }))).toBeNull()
    })

    it.each([
      ['the label', { labels: LABEL }],
      ['the annotation of the injector', { annotations: { 'chaperone.dev/injected': INJECTED } }],
      [
        'everything that the injector writes',
        {
          labels: { ...LABEL, 'chaperone.dev/layer': 'Captured' },
          annotations: {
            ...{ 'chaperone.dev/injected': INJECTED, 'chaperone.dev/gateway': 'main' },
            ...{ 'chaperone.dev/agent': 'agent', 'chaperone.dev/proxy-uid': String(UID) },
          },
        },
      ],
    ])(
      'refuses %s, also in a write of its status and for a container of the same name',
      async (_, metadata) => {
        for (const call of [patch(metadata), patch(metadata, '/status')])
          expect(await refusalOf(client, call)).toContain('only the injector sets')
        const named = { ...patch(metadata), path: '/api/v1/namespaces/team/pods/named' }
        expect(await refusalOf(client, named)).toContain('only the injector sets')
        const { metadata: now } = await client.call<{ metadata: object }>({ method: 'GET', path })
        expect(JSON.stringify(now)).not.toContain('injected"')
      },
    )

    it.each([
      ['that says so itself', { labels: LABEL }],
      [
        'that says so with every annotation',
        { labels: LABEL, annotations: { 'chaperone.dev/injected': INJECTED } },
      ],
    ])('refuses to create one %s', async (_, metadata) => {
      expect(await create({ metadata: { name: 'born', ...metadata }, spec: PLAIN })).toContain(
        'initContainers',
      )
    })

    it('allows changes of other metadata, and other values of the label', async () => {
      const metadata = {
        labels: { team: 'red', 'chaperone.dev/inject': 'disabled' },
        annotations: { note: 'x' },
      }
      expect(await refusalOf(client, patch(metadata))).toBeNull()
      expect(await refusalOf(client, patch({ labels: { team: null } }, '/status'))).toBeNull()
    })

    it.each([
      ['annotations', 'pods/never/binding', { 'chaperone.dev/injected': INJECTED }],
      ['labels', 'pods/never/binding', LABEL],
      ['annotations', 'bindings', { 'chaperone.dev/gateway': 'main' }],
    ])('refuses %s by %s', async (map, resource, value) => {
      const call = (metadata: object): KubeCall => ({
        ...{ method: 'POST', path: `/api/v1/namespaces/team/${resource}`, query: { dryRun: 'All' } },
        body: {
          ...{ apiVersion: 'v1', kind: 'Binding', metadata: { name: 'never', ...metadata } },
          target: { apiVersion: 'v1', kind: 'Node', name: 'node-1' },
        },
      })
      expect(await refusalOf(client, call({ [map]: value }))).toContain(
        'a binding must not set chaperone.dev/',
      )
      expect(await refusalOf(client, call({}))).toBeNull()
    })
  })

  describe('of objects of agent-sandbox', () => {
    const OBJECTS = {
      Sandbox: { base: '/apis/agents.x-k8s.io/v1beta1', plural: 'sandboxes' },
      SandboxTemplate: { base: '/apis/extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxtemplates' },
      SandboxClaim: { base: '/apis/extensions.agents.x-k8s.io/v1beta1', plural: 'sandboxclaims' },
    } as const
    type Kind = keyof typeof OBJECTS
    const specOf = (kind: Kind, metadata: object) =>
      kind === 'SandboxClaim' ? { additionalPodMetadata: metadata } : { podTemplate: { metadata } }
    const made = (kind: Kind, name: string, metadata: object): KubeCall => ({
      ...{ method: 'POST', path: pathOf(OBJECTS[kind], 'team') },
      body: {
        ...{ apiVersion: OBJECTS[kind].base.replace('/apis/', ''), kind, metadata: { name } },
        spec: specOf(kind, metadata),
      },
    })
    const changed = (kind: Kind, name: string, spec: object): KubeCall => ({
      ...{ method: 'PATCH', path: pathOf(OBJECTS[kind], 'team', name) },
      ...{ contentType: 'application/merge-patch+json', body: { spec } },
    })
    const gateway = (name: string | null) => ({ annotations: { 'chaperone.dev/gateway': name } })

    beforeAll(async () => {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions'
      for (const body of [SANDBOX_DEFINITION, TEMPLATE_DEFINITION, CLAIM_DEFINITION])
        await client.call({ method: 'POST', path, body })
      for (const kind of Object.keys(OBJECTS) as Kind[])
        await eventually(`${kind} is served`, async () =>
          (await refusalOf(client, made(kind, 'first', {}))) === null ? true : null,
        )
    }, 30_000)

    it('admits what the user of a template or a Sandbox chooses', async () => {
      const metadata = {
        labels: { team: 'blue', 'chaperone.dev/inject': 'enabled' },
        annotations: { 'chaperone.dev/gateway': 'main', 'chaperone.dev/agent': 'librarian' },
      }
      for (const kind of ['Sandbox', 'SandboxTemplate'] as const)
        expect(await refusalOf(client, made(kind, 'governed', metadata))).toBeNull()
      const ofUser = { labels: { 'sandbox.users.io/x': 'y' }, annotations: { note: 'z' } }
      expect(await refusalOf(client, made('SandboxClaim', 'plain', ofUser))).toBeNull()
    })

    it.each([
      ['SandboxClaim', { annotations: { 'chaperone.dev/agent': 'payments' } }],
      ['SandboxClaim', gateway('other')],
      ['SandboxClaim', { labels: { 'chaperone.dev/inject': 'disabled' } }],
      ['Sandbox', { annotations: { 'chaperone.dev/proxy-uid': '1900000001' } }],
      ['SandboxTemplate', { annotations: { 'chaperone.dev/injected': '{}' } }],
      ['SandboxTemplate', { labels: { 'chaperone.dev/layer': 'Captured' } }],
      ['SandboxTemplate', { labels: { 'chaperone.dev/inject': 'disabled' } }],
    ] as const)('refuses a %s with %j, at its creation and as a change', async (kind, metadata) => {
      const [[key = '', value = '']] = Object.values(metadata).flatMap((map) => Object.entries(map)) as [
        [string, string],
      ]
      for (const call of [made(kind, 'wrong', metadata), changed(kind, 'first', specOf(kind, metadata))]) {
        const says = await refusalOf(client, call)
        expect(says).toContain('chaperone-sandboxes')
        expect(says).toContain(`${key} from "" to "${value}"`)
        expect(says).toMatch(/Remove the key/)
      }
    })

    it('refuses another Gateway for a running Sandbox, and admits another spelling and a suspended one', async () => {
      expect(await refusalOf(client, made('Sandbox', 'running', gateway('main')))).toBeNull()
      const to = (name: string | null, spec: object = {}) =>
        changed('Sandbox', 'running', { ...specOf('Sandbox', gateway(name)), ...spec })
      const other = await refusalOf(client, to('other'))
      expect(other).toContain('chaperone.dev/gateway from "main" to "other"')
      expect(other).toContain('Set spec.operatingMode: Suspended first')
      expect(await refusalOf(client, to(null))).toContain('chaperone.dev/gateway from "main" to ""')
      expect(await refusalOf(client, to('team/main'))).toBeNull()
      expect(await refusalOf(client, to('other', { operatingMode: 'Suspended' }))).toBeNull()
      expect(await refusalOf(client, to('main', { operatingMode: 'Running' }))).toBeNull()
      const late = await refusalOf(client, changed('Sandbox', 'first', specOf('Sandbox', gateway('main'))))
      expect(late).toContain('chaperone.dev/gateway from "" to "main"')
    })

    it('lets a template change its Gateway', async () => {
      expect(await refusalOf(client, made('SandboxTemplate', 'changing', gateway('main')))).toBeNull()
      const call = changed('SandboxTemplate', 'changing', specOf('SandboxTemplate', gateway('other')))
      expect(await refusalOf(client, call)).toBeNull()
    })
  })

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
    expect(await refusalOf(client, authorities('team'))).toContain('is reserved for the operator')
    expect(await refusalOf(client, { ...authorities('team', 'other') })).toBeNull()
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

function hardened(more: object) {
  return { securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] }, ...more } }
}

function token(audiences: readonly string[]): KubeCall {
  return {
    method: 'POST',
    path: '/api/v1/namespaces/team/serviceaccounts/agent/token',
    body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { audiences } },
  }
}

function authorities(namespace: string, name = 'chaperone-control-plane-ca'): KubeCall {
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name }, data: { 'ca.crt': 'evil' } }
  return { method: 'POST', path: `/api/v1/namespaces/${namespace}/configmaps`, body }
}
