import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pino from 'pino'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { AdmissionComponent, AdmissionDeps } from '../../../operator/cluster/admission.ts'
import { createPodIndex } from '../../../operator/cluster/pods/pod-index.ts'
import { readConfig } from '../../../operator/config.ts'
import { admissionComponent } from '../../../operator/inject/admission-component.ts'
import { readInjectionConfig } from '../../../operator/inject/config.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
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
import { size } from '../../support/proof.ts'
import type { AdmissionWorld, AuditEvent, Event } from './admission-world.ts'
import { describeNetworkPolicies } from './network-policies.ts'
import { OPERATOR_RULES, OPERATOR_USER, operatorClient } from './operator-account.ts'
import { describeRestoredObjects } from './restored-objects.ts'

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
  const watched: Namespaces[] = []
  const bypassing: string[][] = []
  const isolation: string[][] = []
  const podIndex = createPodIndex()

  const start: AdmissionWorld['start'] = (
    image,
    { known = () => world.gateways, maintenanceMs = 50, evicts = false, floors = '', leads = false } = {},
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
    const pods = { isSynced: () => world.arePodsSynced }
    const onIsolation = (gateways: ReadonlySet<string>) => isolation.push([...gateways])
    const onBypassing = (gateways: ReadonlySet<string>) => bypassing.push([...gateways])
    const called = { onBypassing, onIsolation, onReview: () => undefined, isLeader: () => leads }
    const sandboxes = { ...NO_SANDBOXES, templateNamespaces: () => world.templates }
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
  const reconciled = async () => {
    const path = '/apis/networking.k8s.io/v1/namespaces/team/networkpolicies/chaperone-inbound'
    const marker = () => client.call<object>({ method: 'GET', path }).catch(() => null)
    world.gateways = [{ ...main, spec: { ...main.spec, inbound: 'deny' } }]
    await eventually('a policy is written', marker)
    world.gateways = [main]
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

  const world: AdmissionWorld = {
    get server() {
      return server
    },
    get client() {
      return client
    },
    get own() {
      return own
    },
    get component() {
      return component
    },
    ...{ main, podIndex, isolation, start, ready, reconciled },
    ...{ gateways: [main], templates: null, arePodsSynced: true },
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
  })

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
    world.gateways = [{ ...main, spec: { ...main.spec, interception: 'proxyEnv' } }]
    const shape = await eventually('a pod without rules is admitted', () =>
      names(`soft-${Math.trunc(performance.now())}`).catch(() => null),
    )
    expect(shape).toEqual(['chaperone-proxy'])
    world.gateways = [main]
    await eventually('a captured pod is admitted', async () =>
      (await names(`hard-${Math.trunc(performance.now())}`))?.length === 2 ? true : null,
    )
  })

  it('gives pods of a new RuntimeClass of gVisor the rule setter of gVisor', async () => {
    const body = {
      ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'sandboxed' } },
      handler: 'runsc',
    }
    await client.call({ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body })
    const stored = await eventually('the pod is admitted', () => {
      const sandboxed = pod(`sandboxed-${Math.trunc(performance.now())}`, { runtimeClassName: 'sandboxed' })
      return client
        .call<{ spec: { initContainers: { command: string[] }[] } }>(createPod('team', sandboxed))
        .catch(() => null)
    })
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
    expect([...(component.bypassing?.() ?? [])].flatMap(([, pods]) => pods)).toContainEqual({
      ...{ name: `team/${name}`, kind: 'ungoverned' },
    })
    expect(bypassing.length).toBeGreaterThan(0)
  })

  describeRestoredObjects(world)

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
    await eventually('it is ended', async () => ((await listed()).some(isLoose) ? null : true))
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

  // Once in `npm test`: each run starts two components.
  it.each([3, 5, 7].slice(0, size(1, 3)))(
    'keeps the images of two versions that start at the same time (%i)',
    async (version) => {
      const both = [version, version + 1].map((tag) => `registry.example:5000/chaperone:${tag}`)
      const started = await Promise.all(both.map((image) => start(image)))
      for (const one of started) await ready(one)
      expect(await images()).toEqual(expect.arrayContaining(both))
      for (const one of started) await one[Symbol.asyncDispose]()
    },
  )

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
    await eventually('the CA certificates are there', () =>
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

  describeNetworkPolicies(world)

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
    // What is applied counts as patched, and needs the right to create it. A renewed CA certificate is written over the
    // old one.
    const unseen = ({ resources, verbs }: { resources: string[]; verbs: string[] }) =>
      verbs.includes('patch') ? resources.map((resource) => `create ${resource}`) : []
    const rare = ['update secrets', ...OPERATOR_RULES.cluster.flatMap(unseen)]
    expect([...asked].sort()).toEqual([...new Set(allowed)].filter((call) => !rare.includes(call)).sort())
  })
})
