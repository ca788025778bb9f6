import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { KubeConfig } from '@kubernetes/client-node'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GatewaySpec } from '../../../core/crd/gateway-spec.ts'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import type { AdmissionComponent, AdmissionDeps } from '../../../operator/cluster/cluster-operator.ts'
import { governedPod } from '../../../operator/cluster/governed-pods.ts'
import { createPodIndex } from '../../../operator/cluster/pod-index.ts'
import { readConfig } from '../../../operator/config.ts'
import { admissionComponent } from '../../../operator/inject/admission-component.ts'
import { readInjectionConfig } from '../../../operator/inject/config.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { createNamespaces, type Namespaces } from '../../../operator/kube/namespaces.ts'
import { keyOf } from '../../../operator/kube/objects.ts'
import { eventually } from '../../support/eventually.ts'
import { NO_SANDBOXES } from '../../support/golden-pods.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { clientOf, createNamespace, createPod, refusalOf, untilAccount } from '../../support/kube-objects.ts'

type StoredPod = { metadata: { name: string }; spec: { initContainers?: { name: string; image: string }[] } }

describe.skipIf(kubeAssets() === null)(`the admission component (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let client: KubeClient
  /** With no more rights than the injector needs. */
  let own: KubeClient
  let folder: string
  let component: AdmissionComponent
  const main = {
    metadata: { name: 'main', namespace: 'team', uid: 'u', resourceVersion: '1' },
    spec: GatewaySpec.parse({}),
  }
  let gateways = [main]
  const watched: Namespaces[] = []
  const bypassing: string[][] = []
  const isolation: string[][] = []
  const podIndex = createPodIndex()
  let arePodsSynced = true
  let templates: ReadonlySet<string> | null = null

  const start = (
    image: string,
    { known = () => gateways, maintenanceMs = 50, evicts = false, floors = '', leads = false } = {},
  ) => {
    const env = {
      POD_NAMESPACE: 'chaperone-system',
      CONTROL_PLANE_URL: 'https://control-plane.example',
      CONTROL_PLANE_CA_FILE: join(folder, 'ca.crt'),
      OPERATOR_TOKEN_FILE: join(folder, 'token'),
      SIDECAR_IMAGE: image,
      SIDECAR_DNS_RESOLVERS: '10.96.0.10',
      WEBHOOK_HOST: '127.0.0.1',
      WEBHOOK_PORT: '0',
      WEBHOOK_ADDRESS: '127.0.0.1',
      EVICT_UNGOVERNED: String(evicts),
      GATEWAY_FLOORS: floors,
      PROXY_ENV_UPSTREAMS: JSON.stringify([{ cidr: '198.51.100.0/24', ports: [443] }]),
    }
    const config = readConfig(env)
    if (config.mode !== 'cluster') throw new Error('no cluster')
    const cache = {
      synced: Promise.resolve(),
      isSynced: () => true,
      get: (key: string) => known().find((each) => keyOf(each) === key),
      list: () => known(),
      resourceVersion: () => '1',
      stalenessMs: () => 0,
      isBroken: () => false,
      stop: async () => undefined,
    }
    const none = { ...cache, get: () => undefined, list: () => [] }
    const caches: AdmissionDeps['caches'] = {
      Gateway: cache,
      Connector: none,
      Permission: none,
      Policy: none,
    }
    const open = admissionComponent(readInjectionConfig(env), { maintenanceMs, sweepMs: 100 })
    const log = pino({ level: 'silent' })
    const metrics = { restarted: () => undefined, relisted: () => undefined }
    const namespaces = createNamespaces({ client: own, log, metrics, onChange: () => undefined })
    watched.push(namespaces)
    const pods = { isSynced: () => arePodsSynced }
    const onIsolation = (gateways: ReadonlySet<string>) => isolation.push([...gateways])
    const onBypassing = (gateways: ReadonlySet<string>) => bypassing.push([...gateways])
    const called = { onBypassing, onIsolation, onReview: () => undefined, isLeader: () => leads }
    const sandboxes = { ...NO_SANDBOXES, templateNamespaces: () => templates }
    return open({
      ...{ client: own, config, log, instance: 'test', caches, namespaces, pods, podIndex, sandboxes },
      ...called,
    })
  }
  const ready = (started: AdmissionComponent) =>
    eventually('the component is ready', () =>
      started.checks.every(({ problem }) => problem() === null) ? true : null,
    )
  const images = async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies/chaperone-pods'
    const policy = await client.call<{ metadata: { annotations: Record<string, string> } }>({
      method: 'GET',
      path,
    })
    const noted = JSON.parse(policy.metadata.annotations['chaperone.dev/images'] ?? '{}') as {
      proxy?: string[]
    }
    return noted.proxy ?? []
  }
  /** Resolves when the NetworkPolicies of `main`, which captures every pod, have been reconciled. */
  const reconciled = async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-inbound'
    const marker = () => client.call<object>({ method: 'GET', path }).catch(() => null)
    gateways = [{ ...main, spec: { ...main.spec, inbound: 'deny' } }]
    await eventually('a policy is written', marker)
    gateways = [main]
    await eventually('it is deleted', async () => ((await marker()) === null ? true : null))
  }
  const pod = (name: string, more: object = {}) => ({
    metadata: { name, annotations: { 'chaperone.dev/gateway': 'main' } },
    spec: { containers: [{ name: 'agent', image: 'node:24' }], ...more },
  })
  const names = async (name: string) => {
    const stored = await client.call<StoredPod>(createPod('team', pod(name)))
    return stored.spec.initContainers?.map((each) => each.name)
  }

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'component-'))
    await writeFile(join(folder, 'ca.crt'), 'PEM')
    server = await startKubeApiServer({ withControllers: true })
    client = clientOf(server)
    await createNamespace(client, 'chaperone-system')
    await createNamespace(client, 'team')
    await untilAccount(client, 'team')
    own = await operatorClient(server, client)
    // Created before the guard exists, so without admission.
    await client.call(createPod('team', pod('slipped')))
    component = await start('registry.example:5000/chaperone:1', { leads: true })
    await ready(component)
  }, 120_000)

  afterAll(async () => {
    await component?.[Symbol.asyncDispose]()
    for (const namespaces of watched) await namespaces.stop()
    own?.[Symbol.dispose]()
    client?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
    await rm(folder, { recursive: true })
  })

  it('injects pods, and publishes the trust bundle to their namespace', async () => {
    const shape = await eventually('the webhook is asked', async () => {
      const stored = await client.call<StoredPod>(createPod('team', pod('first'), { dryRun: 'All' }))
      return stored.spec.initContainers?.map((each) => each.name) ?? null
    })
    expect(shape).toEqual(['chaperone-rules', 'chaperone-proxy'])
    const path = '/api/v1/namespaces/team/configmaps/chaperone-control-plane-ca'
    const { data } = await client.call<{ data: object }>({ method: 'GET', path })
    expect(data).toEqual({ 'ca.crt': 'PEM' })
  })

  it('records the reason of a refused pod on its workload', async () => {
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'u-1', controller: true }
    const bad = { ...pod('bad', { hostNetwork: true }) }
    const owned = { ...bad, metadata: { ...bad.metadata, ownerReferences: [owner] } }
    expect(await refusalOf(client, createPod('team', owned))).toContain('spec.hostNetwork')
    const event = await eventually('the Event is written', async () => {
      const path = '/apis/events.k8s.io/v1/namespaces/team/events'
      const { items } = await client.call<{ items: Event[] }>({ method: 'GET', path })
      return items.find(({ reason }) => reason === 'InjectionRefused') ?? null
    })
    expect(event.regarding).toMatchObject({ kind: 'ReplicaSet', name: 'web-1' })
    expect(event.note).toContain('spec.hostNetwork')
  })

  it('updates the admission policies when a Gateway changes', async () => {
    gateways = [{ ...main, spec: { ...main.spec, interception: 'proxyEnv' } }]
    const shape = await eventually(
      'a pod without rules is admitted',
      () => names(`soft-${Math.trunc(performance.now())}`).catch(() => null),
      25_000,
    )
    expect(shape).toEqual(['chaperone-proxy'])
    gateways = [main]
    await eventually(
      'a captured pod is admitted',
      async () => ((await names(`hard-${Math.trunc(performance.now())}`))?.length === 2 ? true : null),
      25_000,
    )
  })

  it('gives pods of a new RuntimeClass of gVisor the rule setter of gVisor', async () => {
    const body = {
      ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'sandboxed' } },
      handler: 'runsc',
    }
    await client.call({ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body })
    const stored = await eventually(
      'the pod is admitted',
      () => {
        const sandboxed = pod(`sandboxed-${Math.trunc(performance.now())}`, { runtimeClassName: 'sandboxed' })
        return client
          .call<{ spec: { initContainers: { command: string[] }[] } }>(createPod('team', sandboxed))
          .catch(() => null)
      },
      25_000,
    )
    expect(stored.spec.initContainers[0]?.command[1]).toBe('/etc/chaperone/iptables.sh')
  })

  it('finds a pod that was created without admission', async () => {
    const name = 'slipped'
    const event = await eventually('the watchdog says so', async () => {
      const { items } = await client.call<{ items: Event[] }>({
        method: 'GET',
        path: '/apis/events.k8s.io/v1/namespaces/team/events',
      })
      return (
        items.find(({ reason, regarding }) => reason === 'BypassDetected' && regarding.name === name) ?? null
      )
    })
    expect(event.note).toContain('the pod has no sidecar')
    // For the Gateway's status.
    expect([...(component.bypassing?.() ?? [])].flatMap(([, pods]) => pods)).toContain(`team/${name}`)
    expect(bypassing.length).toBeGreaterThan(0)
  })

  it('restores deleted objects of the guard within 5 s, with one Event each', async () => {
    const admission = '/apis/admissionregistration.k8s.io/v1'
    const paths = [
      `${admission}/mutatingwebhookconfigurations/chaperone-injector`,
      `${admission}/validatingwebhookconfigurations/chaperone-manifests`,
      `${admission}/validatingadmissionpolicies/chaperone-pods`,
      `${admission}/validatingadmissionpolicybindings/chaperone-pods`,
      '/api/v1/namespaces/team/configmaps/chaperone-control-plane-ca',
    ]
    type Stored = { metadata: { uid: string; name: string } }
    const read = (path: string) => client.call<Stored>({ method: 'GET', path })
    const second = await start('registry.example:5000/chaperone:1')
    await ready(second)
    const before = await Promise.all(paths.map(read))
    // All at once: webhook and policies are away together.
    await Promise.all(paths.map((path) => client.call({ method: 'DELETE', path })))
    for (const [at, path] of paths.entries())
      await eventually(
        `${path} is back`,
        async () => {
          const now = await read(path).catch(() => null)
          return now !== null && now.metadata.uid !== before[at]?.metadata.uid ? true : null
        },
        5_000,
      )
    await eventually('the Events are written', async () => {
      const listed = await Promise.all(
        ['team', 'default'].map((namespace) =>
          client.call<{ items: Event[] }>({
            method: 'GET',
            path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
          }),
        ),
      )
      const about = listed.flatMap(({ items }) => items).filter(({ reason }) => reason === 'GuardDeleted')
      const kinds = about.map(({ regarding }) => `${regarding.kind} ${regarding.name}`).sort()
      return kinds.length >= paths.length ? kinds : null
    }).then((kinds) =>
      expect(kinds).toEqual([
        'ConfigMap chaperone-control-plane-ca',
        'MutatingWebhookConfiguration chaperone-injector',
        'ValidatingAdmissionPolicy chaperone-pods',
        'ValidatingAdmissionPolicyBinding chaperone-pods',
        'ValidatingWebhookConfiguration chaperone-manifests',
      ]),
    )
    await second[Symbol.asyncDispose]()
  })

  it('restores changed objects of the guard within 5 s, with one Event each', async () => {
    const admission = '/apis/admissionregistration.k8s.io/v1'
    const merge = (path: string, body: object, by = client) =>
      by.call({
        ...{ method: 'PATCH' as const, path, body, query: { fieldManager: 'intruder' } },
        contentType: 'application/merge-patch+json',
      })
    type Stored = {
      readonly metadata: object
      readonly [field: string]: unknown
    }
    const read = async (path: string) => {
      const { metadata, ...content } = await client.call<Stored>({ method: 'GET', path })
      // Each replica of this test writes its own port.
      return JSON.stringify({ ...content, status: undefined }).replaceAll(/127\.0\.0\.1:\d+/g, '')
    }
    const open = { apiGroups: [''], apiVersions: ['v1'], operations: ['*'], resources: ['pods'] }
    const changes = [
      [`${admission}/mutatingwebhookconfigurations/chaperone-injector`, { webhooks: [] }],
      [
        `${admission}/validatingadmissionpolicybindings/chaperone-pods`,
        { spec: { validationActions: ['Warn'] } },
      ],
      // A field that the operator does not write, so that an apply alone keeps it.
      [
        `${admission}/validatingadmissionpolicies/chaperone-pods`,
        { spec: { matchConstraints: { excludeResourceRules: [open] } } },
      ],
    ] as const
    const trust = '/api/v1/namespaces/team/configmaps/chaperone-control-plane-ca'
    const paths = [...changes.map(([path]) => path), trust]
    const second = await start('registry.example:5000/chaperone:1')
    await ready(second)
    const before = await Promise.all(paths.map(read))
    for (const [path, body] of changes) await merge(path, body)
    // The admission policies refuse everyone but the operator.
    await merge(trust, { data: { 'ca.crt': 'other' } }, own)
    for (const [at, path] of paths.entries())
      await eventually(
        `${path} is as before`,
        async () => ((await read(path)) === before[at] ? true : null),
        5_000,
      )
    const kinds = await eventually('the Events are written', async () => {
      const listed = await Promise.all(
        ['team', 'default'].map((namespace) =>
          client.call<{ items: Event[] }>({
            method: 'GET',
            path: `/apis/events.k8s.io/v1/namespaces/${namespace}/events`,
          }),
        ),
      )
      const about = listed.flatMap(({ items }) => items).filter(({ reason }) => reason === 'GuardChanged')
      return about.length >= paths.length ? about : null
    })
    expect(kinds.map(({ regarding }) => `${regarding.kind} ${regarding.name}`).sort()).toEqual([
      'ConfigMap chaperone-control-plane-ca',
      'MutatingWebhookConfiguration chaperone-injector',
      'ValidatingAdmissionPolicy chaperone-pods',
      'ValidatingAdmissionPolicyBinding chaperone-pods',
    ])
    const named = kinds.filter(({ note }) => note.includes('changed by intruder'))
    // The API server names no client that only removes fields.
    expect(named.map(({ regarding }) => regarding.kind).sort()).toEqual([
      'ConfigMap',
      'ValidatingAdmissionPolicy',
      'ValidatingAdmissionPolicyBinding',
    ])
    // The two replicas do not go on to overwrite each other.
    const versions = () =>
      Promise.all(
        changes.map(async ([path]) => {
          const { metadata } = await client.call<{ metadata: { generation: number } }>({
            method: 'GET',
            path,
          })
          return metadata.generation
        }),
      )
    const restored = await versions()
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await versions()).toEqual(restored)
    await second[Symbol.asyncDispose]()
  })

  it('restores no trust bundle in a namespace that is being deleted', async () => {
    await createNamespace(client, 'ending')
    const path = '/api/v1/namespaces/ending/configmaps/chaperone-control-plane-ca'
    gateways = [main, { ...main, metadata: { ...main.metadata, namespace: 'ending' } }]
    const isThere = () => client.call<object>({ method: 'GET', path }).catch(() => null)
    await eventually('the trust bundle is published', isThere)
    await client.call({ method: 'DELETE', path: '/api/v1/namespaces/ending' })
    await client.call({ method: 'DELETE', path }).catch(() => undefined)
    gateways = [main]
    // A bundle that is deleted later is back, so the deletion of this one was seen.
    const later = path.replace('ending', 'team')
    const uid = async () =>
      (await client.call<{ metadata: { uid: string } }>({ method: 'GET', path: later }).catch(() => null))
        ?.metadata.uid
    const before = await uid()
    await client.call({ method: 'DELETE', path: later })
    await eventually('the trust bundle of the other namespace is back', async () => {
      const now = await uid()
      return now !== undefined && now !== before ? true : null
    })
    expect(await isThere()).toBeNull()
  })

  it('evicts ungoverned pods if configured, and no other', async () => {
    type Listed = { items: Array<StoredPod & { metadata: { labels?: Record<string, string> } }> }
    const listed = async () => {
      const { items } = await client.call<Listed>({ method: 'GET', path: '/api/v1/namespaces/team/pods' })
      return items
    }
    const isLoose = ({ spec }: StoredPod) => spec.initContainers === undefined
    const before = await listed()
    expect(before.filter(isLoose).length).toBeGreaterThan(0)
    const ending = await start('registry.example:5000/chaperone:1', { evicts: true })
    await eventually('it is ended', async () => ((await listed()).some(isLoose) ? null : true), 25_000)
    const kept = before.filter((each) => !isLoose(each)).map(({ metadata }) => metadata.name)
    expect((await listed()).map(({ metadata }) => metadata.name).sort()).toEqual(kept.sort())
    await ending[Symbol.asyncDispose]()
  })

  it('admits images of both versions during an upgrade', async () => {
    const newer = await start('registry.example:5000/chaperone:2')
    await ready(newer)
    expect(await images()).toEqual(['registry.example:5000/chaperone:1', 'registry.example:5000/chaperone:2'])
    await newer[Symbol.asyncDispose]()
  })

  it.each([3, 5, 7])('keeps the images of two versions that start at the same time (%i)', async (version) => {
    const both = [version, version + 1].map((tag) => `registry.example:5000/chaperone:${tag}`)
    const started = await Promise.all(both.map((image) => start(image)))
    for (const one of started) await ready(one)
    expect(await images()).toEqual(expect.arrayContaining(both))
    for (const one of started) await one[Symbol.asyncDispose]()
  })

  it('publishes the trust bundle to the namespace of a new Gateway before its first pod', async () => {
    await createNamespace(client, 'young')
    const seen = [main]
    const lazy = await start('registry.example:5000/chaperone:1', {
      known: () => seen,
      maintenanceMs: 3_600_000,
    })
    await ready(lazy)
    seen.push({ ...main, metadata: { ...main.metadata, namespace: 'young' } })
    lazy.gatewaysChanged?.()
    const path = '/api/v1/namespaces/young/configmaps/chaperone-control-plane-ca'
    await eventually('the authorities are there', () =>
      client.call<object>({ method: 'GET', path }).catch(() => null),
    )
    await lazy[Symbol.asyncDispose]()
  })

  it('applies a hardening floor above the level of the Gateway', async () => {
    const floors = '{"hardening":"strict"}'
    const strict = await start('registry.example:5000/chaperone:1', { floors })
    await ready(strict)
    await eventually('a pod that may be root is refused', async () => {
      const asked = client.call<StoredPod>(createPod('team', pod('root'), { dryRun: 'All' }))
      const refusal = await asked.then(
        () => null,
        (error: unknown) => String(error),
      )
      return refusal?.includes('hardening: strict') ? true : null
    })
    await strict[Symbol.asyncDispose]()
  })

  it('keeps the NetworkPolicy of governed pods of agent-sandbox where there are SandboxTemplates', async () => {
    const resource = '/apis/networking.k8s.io/v1'
    const path = `${resource}/namespaces/team/networkpolicies/chaperone-agent-sandbox`
    type Policy = { metadata: { uid: string; resourceVersion: string }; spec: { podSelector: object } }
    const read = () => client.call<Policy>({ method: 'GET', path }).catch(() => null)
    const all = async () => {
      const { items } = await client.call<{ items: { metadata: { namespace: string } }[] }>({
        ...{ method: 'GET', path: `${resource}/networkpolicies` },
      })
      return items.map(({ metadata }) => metadata.namespace)
    }
    await createNamespace(client, 'plain')
    templates = new Set(['team', 'plain'])
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
    await client.call({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    await eventually('a change is undone', async () => {
      const now = await read()
      return JSON.stringify(now?.spec) === JSON.stringify(first.spec) ? true : null
    })
    await client.call({ method: 'DELETE', path })
    await eventually('it is back', async () => {
      const now = await read()
      return now !== null && now.metadata.uid !== first.metadata.uid ? true : null
    })
    const writes = async () => {
      const lines = (await readFile(server.auditLogPath, 'utf8')).trim().split('\n')
      const events = lines.map((line) => JSON.parse(line) as AuditEvent)
      return events.filter(
        ({ verb, objectRef, user }) =>
          user.username === OPERATOR_USER && verb === 'patch' && objectRef?.resource === 'networkpolicies',
      ).length
    }
    const before = await writes()
    await new Promise((resolve) => setTimeout(resolve, 500))
    expect(await writes()).toBe(before)
    templates = new Set()
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
  })

  it('keeps the NetworkPolicy of pods whose Gateway denies inbound connections, where such a Gateway admits pods', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-inbound'
    type Policy = { metadata: { uid: string }; spec: object }
    const read = () => client.call<Policy>({ method: 'GET', path }).catch(() => null)
    const policies = async () => {
      const named = { fieldSelector: 'metadata.name=chaperone-inbound' }
      const { items } = await client.call<{ items: { metadata: { namespace: string } }[] }>({
        ...{ method: 'GET', path: '/apis/networking.k8s.io/v1/networkpolicies', query: named },
      })
      return items.map(({ metadata }) => metadata.namespace)
    }
    expect(await policies()).toEqual([])
    gateways = [{ ...main, spec: { ...main.spec, inbound: 'deny' } }]
    const first = await eventually('it is written', read)
    expect(await policies()).toEqual(['team'])
    expect(first.spec).toEqual({
      podSelector: { matchLabels: { 'chaperone.dev/inbound': 'deny' } },
      policyTypes: ['Ingress'],
    })
    const body = { spec: { ingress: [{}] } }
    await client.call({ method: 'PATCH', path, contentType: 'application/merge-patch+json', body })
    await eventually('a rule of another client is taken back', async () =>
      JSON.stringify((await read())?.spec) === JSON.stringify(first.spec) ? true : null,
    )
    await client.call({ method: 'DELETE', path })
    await eventually('it is back', async () => {
      const now = await read()
      return now !== null && now.metadata.uid !== first.metadata.uid ? true : null
    })
    gateways = [main]
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
  })

  it('keeps the NetworkPolicy of pods with proxyEnv, where a Gateway does not capture every pod', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-proxy-env'
    type Policy = { spec: { podSelector: object; egress: { to: object[]; ports: object[] }[] } }
    const read = () => client.call<Policy>({ method: 'GET', path }).catch(() => null)
    expect(await read()).toBeNull()
    gateways = [{ ...main, spec: { ...main.spec, interception: 'auto' } }]
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
    arePodsSynced = false
    await reconciled()
    expect(await read()).not.toBeNull()
    arePodsSynced = true
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
  })

  it('keeps the NetworkPolicy of pods with proxyEnv while such a pod runs, whatever the Gateways say by now', async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-proxy-env'
    const read = () => client.call<{ metadata: { uid: string } }>({ method: 'GET', path }).catch(() => null)
    const isIsolated = () => (component.isIsolated?.('team') === true ? true : null)
    expect([await read(), isIsolated()]).toEqual([null, null])
    gateways = [{ ...main, spec: { ...main.spec, interception: 'proxyEnv' } }]
    const first = await eventually('it is written', read)
    await eventually('the watch has it', isIsolated)
    podIndex.set(
      'team/soft',
      governedPod({
        metadata: {
          ...{ namespace: 'team', name: 'soft', uid: 'soft', resourceVersion: '1' },
          labels: { 'chaperone.dev/layer': 'IsolatedByNetworkPolicy' },
          annotations: { 'chaperone.dev/gateway': 'main' },
        },
      }),
    )
    await reconciled()
    expect((await read())?.metadata.uid).toBe(first.metadata.uid)
    isolation.length = 0
    await client.call({ method: 'DELETE', path })
    await eventually('it is back', async () => {
      const now = await read()
      return now !== null && now.metadata.uid !== first.metadata.uid ? true : null
    })
    // For the Gateway's status: once without the policy, and once with it again.
    await eventually('the Gateway of the pod is told', () => (isolation.length >= 2 ? true : null))
    expect(new Set(isolation.flat())).toEqual(new Set(['team/main']))
    podIndex.set('team/soft', undefined)
    await eventually('it is deleted', async () => ((await read()) === null ? true : null))
    await eventually('the watch saw it', () => (isIsolated() === null ? true : null))
  })

  it('has exactly the rights that it uses', async () => {
    const lines = (await readFile(server.auditLogPath, 'utf8')).trim().split('\n')
    const events = lines.map((line) => JSON.parse(line) as AuditEvent)
    const mine = events.filter(({ user }) => user.username === OPERATOR_USER)
    // A namespace that is being deleted admits no new objects, whatever the rights are.
    const isEnding = ({ objectRef }: AuditEvent) => objectRef?.namespace === 'ending'
    const refused = mine.filter(({ responseStatus }) => responseStatus?.code === 403)
    expect(refused.filter((event) => !isEnding(event))).toEqual([])
    const asked = new Set(
      mine.map(({ verb, objectRef: { resource, subresource } = { resource: '' } }) =>
        [`${verb} ${resource}`, ...(subresource === undefined ? [] : [subresource])].join('/'),
      ),
    )
    const allowed = [...OPERATOR_RULES.cluster, ...OPERATOR_RULES.own].flatMap(({ verbs, resources }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${verb} ${resource}`)),
    )
    // What is applied counts as patched, and needs the right to create it. A renewed authority is written over the
    // old one.
    const unseen = ({ resources, verbs }: { resources: string[]; verbs: string[] }) =>
      verbs.includes('patch') ? resources.map((resource) => `create ${resource}`) : []
    const rare = ['update secrets', ...OPERATOR_RULES.cluster.flatMap(unseen)]
    expect([...asked].sort()).toEqual([...new Set(allowed)].filter((call) => !rare.includes(call)).sort())
  })
})

type Event = { reason: string; note: string; regarding: { kind: string; name: string } }
const OPERATOR_USER = 'system:serviceaccount:chaperone-system:chaperone-operator'
const ADMISSION = 'admissionregistration.k8s.io'
/** What the role of the operator has to say for the injector, the guard and the watchdog. */
const OPERATOR_RULES = {
  cluster: [
    { apiGroups: [''], resources: ['pods', 'namespaces'], verbs: ['list', 'watch'] },
    { apiGroups: [''], resources: ['pods/eviction'], verbs: ['create'] },
    { apiGroups: [''], resources: ['configmaps'], verbs: ['list', 'watch', 'create', 'patch'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['create'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['list', 'watch'] },
    {
      apiGroups: ['networking.k8s.io'],
      resources: ['networkpolicies'],
      verbs: ['list', 'watch', 'create', 'patch', 'delete'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['mutatingwebhookconfigurations'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['validatingwebhookconfigurations'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['validatingadmissionpolicies'],
      verbs: ['list', 'watch', 'create', 'get', 'patch'],
    },
    {
      apiGroups: [ADMISSION],
      resources: ['validatingadmissionpolicybindings'],
      verbs: ['list', 'watch', 'create', 'patch'],
    },
  ],
  own: [{ apiGroups: [''], resources: ['secrets'], verbs: ['create', 'get', 'update'] }],
}

/** The operator's ServiceAccount with exactly these rights. */
async function operatorClient(server: KubeApiServer, admin: KubeClient): Promise<KubeClient> {
  const [namespace, name] = ['chaperone-system', 'chaperone-operator']
  const rbac = { base: '/apis/rbac.authorization.k8s.io/v1', group: 'rbac.authorization.k8s.io' }
  const post = (path: string, body: object) =>
    admin.call<{ status: { token: string } }>({ method: 'POST', path, body })
  const subjects = [{ kind: 'ServiceAccount', name, namespace }]
  const roleRef = (kind: string) => ({ apiGroup: rbac.group, kind, name })
  const metadata = { name }
  await post(`/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata })
  await post(`${rbac.base}/clusterroles`, { metadata, rules: OPERATOR_RULES.cluster })
  await post(`${rbac.base}/clusterrolebindings`, { metadata, subjects, roleRef: roleRef('ClusterRole') })
  await post(`${rbac.base}/namespaces/${namespace}/roles`, { metadata, rules: OPERATOR_RULES.own })
  await post(`${rbac.base}/namespaces/${namespace}/rolebindings`, {
    metadata,
    subjects,
    roleRef: roleRef('Role'),
  })
  const { status } = await post(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, { spec: {} })
  const config = new KubeConfig()
  const cluster = { name: 'test', server: server.url, caData: Buffer.from(server.caPem).toString('base64') }
  config.loadFromClusterAndUser(
    { ...cluster, skipTLSVerify: false },
    { name: 'operator', token: status.token },
  )
  return createKubeClient(kubeconfigAccess(config))
}

type AuditEvent = {
  verb: string
  user: { username: string }
  responseStatus?: { code: number }
  objectRef?: { resource: string; subresource?: string; namespace?: string }
}
