import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inject } from '../../../core/inject/inject.ts'
import { jsonPatch } from '../../../core/inject/json-patch.ts'
import { PodSchema } from '../../../core/inject/pod.ts'
import { applyGuard } from '../../../operator/guard/apply-guard.ts'
import { guardObjects } from '../../../operator/guard/policies.ts'
import { publishControlPlaneTrust } from '../../../operator/inject/control-plane-trust.ts'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { createCertificateStore } from '../../../operator/webhook/certificate-store.ts'
import { type Certificates, createCertificates } from '../../../operator/webhook/certificates.ts'
import { createCertificateAuthority, issueLeaf } from '../../../operator/webhook/leaf.ts'
import type { RefusedOwner, ReviewDeps } from '../../../operator/webhook/review-pod.ts'
import { openWebhookServer, type WebhookServer } from '../../../operator/webhook/server.ts'
import { eventually } from '../../support/eventually.ts'
import {
  type GoldenPod,
  gateway,
  gatewayLookup,
  goldenPods,
  INJECT_OPTIONS,
  NO_SANDBOXES,
} from '../../support/golden-pods.ts'
import { GUARD_OPTIONS } from '../../support/guard-options.ts'
import {
  KUBE_ASSETS_HINT,
  type KubeApiServer,
  kubeAssets,
  startKubeApiServer,
} from '../../support/kube-api-server.ts'
import { clientOf, createNamespace, createPod, refusalOf, untilAccount } from '../../support/kube-objects.ts'
import { ISTIO, LINKERD, startMesh } from './mesh-webhooks.ts'

type CheckedPolicy = {
  status?: { observedGeneration?: number; typeChecking?: { expressionWarnings?: unknown[] } }
}
type StoredPod = { metadata: { name: string; uid: string }; spec: { initContainers?: { name: string }[] } }

describe.skipIf(kubeAssets() === null)(`the injector behind a real API server (${KUBE_ASSETS_HINT})`, () => {
  let server: KubeApiServer
  let client: KubeClient
  let certificates: Certificates
  let webhook: WebhookServer
  let shape: Partial<GoldenPod> = {}
  const refused: { owner: RefusedOwner; message: string }[] = []
  const failures: unknown[] = []

  const review: ReviewDeps = {
    gateways: {
      gatewayOf: (namespace, name) => gatewayLookup(shape.gateway).gatewayOf(namespace, name),
      gatewaysIn: (namespace) => {
        const own = gatewayLookup(shape.gateway).gatewaysIn(namespace)
        return namespace === 'closed' ? [gateway('closed', 'main', shape.gateway)] : own
      },
    },
    namespaceLabels: () => undefined,
    agentElsewhere: () => undefined,
    sandboxes: NO_SANDBOXES,
    runtimes: { handlerOf: (name) => (name === 'sandboxed' ? 'runsc' : undefined) },
    settings: INJECT_OPTIONS,
    uids: { fresh: () => 1_950_000_000, isIssued: () => shape.keepsUid === true },
    onRefused: (owner, message) => refused.push({ owner, message }),
  }

  beforeAll(async () => {
    server = await startKubeApiServer({ withControllers: true })
    client = clientOf(server)
    await createNamespace(client, 'chaperone-system')
    await createNamespace(client, 'team')
    await createNamespace(client, 'closed', { 'chaperone.dev/inject': 'required' })
    await createNamespace(client, 'kube-tools', { 'chaperone.dev/inject': 'required' })
    await Promise.all(
      ['team', 'closed', 'kube-tools', 'kube-system', 'kube-public', 'kube-node-lease'].map((name) =>
        untilAccount(client, name),
      ),
    )
    // The address is in the configuration, and known only once the webhook listens.
    let url = ''
    const ownNamespace = 'chaperone-system'
    const target = () => ({ url })
    certificates = await createCertificates({
      port: createCertificateStore(client, { target, ownNamespace }),
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
      isReady: () => true,
      onReview: () => undefined,
      onFailure: (error) => failures.push(error),
    })
    url = `https://127.0.0.1:${webhook.port}`
    await certificates.publish()
    const runtimeClass = {
      apiVersion: 'node.k8s.io/v1',
      kind: 'RuntimeClass',
      metadata: { name: 'sandboxed' },
    }
    await client.call({
      ...{ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses' },
      body: { ...runtimeClass, handler: 'runsc' },
    })
    const options = {
      ...GUARD_OPTIONS,
      cooperativeGateways: ['team/main'],
      gvisorRuntimeClasses: ['sandboxed'],
    }
    await applyGuard(client, guardObjects(options), null)
    await eventually('both the webhook and the policies are asked', async () => {
      const pod = annotated({ hostNetwork: true })
      const says = await refusalOf(client, createPod('team', pod, { dryRun: 'All' }))
      const bare = { metadata: { name: 'b', labels: { 'chaperone.dev/inject': 'injected' } }, spec: SPEC }
      const without = await refusalOf(client, createPod('team', bare, { dryRun: 'All' }))
      return says?.includes('spec.hostNetwork') && without?.includes('chaperone-rules') ? true : null
    })
  })

  afterAll(async () => {
    certificates?.[Symbol.dispose]()
    await webhook?.[Symbol.asyncDispose]()
    client?.[Symbol.dispose]()
    await server?.[Symbol.asyncDispose]()
    expect(failures).toEqual([])
  })

  const SPEC = { containers: [{ name: 'agent', image: 'node:24' }] }
  const WITH_INIT = { ...SPEC, initContainers: [{ name: 'own', image: 'busybox' }] }
  const annotated = (spec: object = {}, metadata: object = {}) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'agent', annotations: { 'chaperone.dev/gateway': 'main' }, ...metadata },
    spec: { ...SPEC, ...spec },
  })
  const bare = (labels: object) => ({ metadata: { name: 'bare', labels }, spec: SPEC })

  it('governs namespaces that only share a prefix with system namespaces', async () => {
    const says = (pod: unknown) => refusalOf(client, createPod('kube-tools', pod, { dryRun: 'All' }))
    expect(await says(annotated())).toContain('is not a Gateway in namespace kube-tools')
    expect(await says(bare({}))).toContain('labelled chaperone.dev/inject=required and has no Gateway')
    expect(await says(bare({ 'chaperone.dev/inject': 'injected' }))).not.toBeNull()
  })

  it.each(['kube-system', 'kube-public', 'kube-node-lease'])('exempts %s', async (namespace) => {
    for (const pod of [annotated(), bare({ 'chaperone.dev/inject': 'injected' })])
      expect(await refusalOf(client, createPod(namespace, pod, { dryRun: 'All' }))).toBeNull()
  })

  const post = (namespace: string, pod: unknown) => client.call<StoredPod>(createPod(namespace, pod))

  describe('pods of every shape', () => {
    it.each(goldenPods().map((golden) => [golden.name, golden] as const))(
      '%s is governed or refused naming each field',
      async (name, golden) => {
        shape = golden
        const given = golden.pod as { metadata: object }
        const isRequired = golden.namespaceLabels !== undefined
        const namespace = isRequired ? 'closed' : 'team'
        const pod = { ...given, metadata: { ...given.metadata, namespace, name } }
        if ('refused' in golden.expect) {
          const says = await refusalOf(client, createPod(namespace, pod))
          for (const field of golden.expect.refused) expect(says).toContain(field)
          const left = await client.call<{ items: StoredPod[] }>({
            method: 'GET',
            path: `/api/v1/namespaces/${namespace}/pods`,
          })
          expect(left.items.map(({ metadata }) => metadata.name)).not.toContain(name)
          return
        }
        const stored = await post(namespace, pod)
        const names = stored.spec.initContainers?.map((container) => container.name) ?? []
        const isCaptured = golden.gateway?.interception !== 'proxyEnv'
        expect(names.slice(0, 2)).toEqual(
          isCaptured ? ['chaperone-rules', 'chaperone-proxy'] : ['chaperone-proxy'],
        )
      },
    )

    it('are not changed by a second injection', async () => {
      shape = {}
      const stored = await post('team', annotated({}, { name: 'stored' }))
      const again = inject(PodSchema.parse(stored), gateway('team', 'main'), {
        ...INJECT_OPTIONS,
        keepsUid: () => true,
      })
      if (again.kind === 'refused') throw new Error(JSON.stringify(again.refusals))
      expect(jsonPatch(stored, again.pod)).toEqual([])
    })
  })

  describe('a pod without a Gateway annotation', () => {
    it('is not injected unless its namespace requires it', async () => {
      const stored = await post('team', { metadata: { name: 'free' }, spec: SPEC })
      expect(stored.spec.initContainers).toBeUndefined()
    })
    it('is injected if its namespace requires it, even before the label is cached', async () => {
      const stored = await post('closed', { metadata: { name: 'bound' }, spec: SPEC })
      expect(stored.spec.initContainers?.[0]?.name).toBe('chaperone-rules')
    })
  })

  it('records an Event on the owner of a refused pod, except for a dry run', async () => {
    refused.length = 0
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web-1', uid: 'u-1', controller: true }
    const pod = annotated({ hostPID: true }, { name: 'owned', ownerReferences: [owner] })
    await refusalOf(client, createPod('team', pod, { dryRun: 'All' }))
    expect(refused).toEqual([])
    await refusalOf(client, createPod('team', pod))
    expect(refused).toHaveLength(1)
    expect(refused[0]?.owner).toMatchObject({ kind: 'ReplicaSet', name: 'web-1', namespace: 'team' })
    expect(refused[0]?.message).toMatch(/spec\.hostPID: .*; remove the field or set it to false$/)
  })

  describe('a debug container', () => {
    const add = async (name: string, container: object) => {
      const path = `/api/v1/namespaces/team/pods/${name}`
      return {
        method: 'PATCH' as const,
        path: `${path}/ephemeralcontainers`,
        contentType: 'application/strategic-merge-patch+json',
        body: { spec: { ephemeralContainers: [container] } },
      }
    }
    it('gets the same trust and variables as the agent', async () => {
      await post('team', annotated({}, { name: 'debugged' }))
      const stored = await client.call<{ spec: { ephemeralContainers: Record<string, unknown>[] } }>(
        await add('debugged', { name: 'shell', image: 'busybox', targetContainerName: 'agent' }),
      )
      expect(stored.spec.ephemeralContainers[0]).toMatchObject({
        securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        volumeMounts: [{ name: 'chaperone-trust', readOnly: true }],
      })
    })
    it.each([
      ['rights', { securityContext: { capabilities: { add: ['NET_ADMIN'] } } }, 'capabilities.add[0]'],
      ['the user of the proxy', { securityContext: { runAsUser: 1_950_000_000 } }, 'runAsUser'],
      ['the processes of the proxy', { targetContainerName: 'chaperone-proxy' }, 'targetContainerName'],
    ])('with %s is refused, and the message names the field', async (_, more, field) => {
      const says = await refusalOf(
        client,
        await add('debugged', { name: 'shell-2', image: 'busybox', ...more }),
      )
      expect(says).toContain('spec.ephemeralContainers[0]')
      expect(says).toContain(field)
    })
  })

  describe('another webhook that inserts its container first', () => {
    const meddle = async (reinvocationPolicy: string, isStubborn: boolean) => {
      const ca = createCertificateAuthority(Date.now())
      const leaf = issueLeaf(ca, ['127.0.0.1'], Date.now())
      const meddler = createServer({ cert: leaf.certPem, key: leaf.keyPem }, async (question, answer) => {
        const { request } = JSON.parse(await text(question)) as {
          request: { uid: string; object: StoredPod }
        }
        const inits = request.object.spec.initContainers ?? []
        const at = inits.findIndex(({ name }) => name === 'meddler')
        const value = { name: 'meddler', image: 'mesh' }
        const add = { op: 'add', path: '/spec/initContainers/0', value }
        const remove = { op: 'remove', path: `/spec/initContainers/${at}` }
        const patch = at === -1 ? [add] : isStubborn && at > 0 ? [remove, add] : []
        const response = {
          uid: request.uid,
          allowed: true,
          patchType: 'JSONPatch',
          patch: Buffer.from(JSON.stringify(patch)).toString('base64'),
        }
        answer.setHeader('content-type', 'application/json')
        answer.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }))
      }).listen(0, '127.0.0.1')
      await once(meddler, 'listening')
      const { port } = meddler.address() as AddressInfo
      const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
      const webhook = {
        name: 'zz.meddler.example',
        clientConfig: {
          url: `https://127.0.0.1:${port}/`,
          caBundle: Buffer.from(ca.certPem).toString('base64'),
        },
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        reinvocationPolicy,
        objectSelector: { matchLabels: { meddle: 'yes' } },
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
      }
      const metadata = { name: 'zz-meddler' }
      const body = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'MutatingWebhookConfiguration',
        metadata,
        webhooks: [webhook],
      }
      await client.call({ method: 'POST', path, body })
      return {
        async [Symbol.asyncDispose]() {
          await client.call({ method: 'DELETE', path: `${path}/zz-meddler` })
          meddler.closeAllConnections()
          await once(meddler.close(), 'close')
        },
      }
    }
    const labelled = (name: string) => annotated({}, { name, labels: { meddle: 'yes' } })
    /** Waits until the API server calls the webhook, shown by an ungoverned pod. */
    const untilMeddling = () =>
      eventually('the other webhook is asked', async () => {
        const free = { metadata: { generateName: 'm-', labels: { meddle: 'yes' } }, spec: WITH_INIT }
        const stored = await client.call<StoredPod>(createPod('team', free, { dryRun: 'All' }))
        return stored.spec.initContainers?.[0]?.name === 'meddler' ? true : null
      })

    it('is corrected by the reinvocation', async () => {
      await using _ = await meddle('Never', false)
      await untilMeddling()
      const stored = await post('team', labelled('meddled'))
      expect(stored.spec.initContainers?.map(({ name }) => name)).toEqual([
        'chaperone-rules',
        'chaperone-proxy',
        'meddler',
      ])
    })

    it('blocks the pod if it inserts its container again', async () => {
      await using _ = await meddle('IfNeeded', true)
      await untilMeddling()
      const says = await refusalOf(client, createPod('team', labelled('insisted')))
      expect(says).toContain('ValidatingAdmissionPolicy')
      expect(says).toContain('spec.initContainers')
    })
  })

  describe.each([
    ['Istio', ISTIO, { labels: { 'sidecar.istio.io/inject': 'false' } }],
    ['Linkerd', LINKERD, { annotations: { 'linkerd.io/inject': 'disabled' } }],
  ] as const)('the webhook of %s, in a namespace that is in the mesh,', (mesh, webhook, optOut) => {
    const meshed = (given: object) =>
      client.call<StoredPod & { spec: { containers: { name: string }[] } }>(
        createPod('team', given, { dryRun: 'All' }),
      )
    const namesOf = ({ spec }: Awaited<ReturnType<typeof meshed>>) =>
      [...(spec.initContainers ?? []), ...spec.containers].map(({ name }) => name)
    const GOVERNED = ['chaperone-rules', 'chaperone-proxy', 'agent']
    /** Waits until the API server calls the webhook, shown by an ungoverned pod. */
    const untilMeshed = () =>
      eventually('the mesh takes in an ungoverned pod', async () => {
        const names = namesOf(await meshed({ metadata: { generateName: 'm-' }, spec: SPEC }))
        return names.some((name) => name.startsWith(mesh.toLowerCase())) ? true : null
      })
    const governed = (more: { labels?: object; annotations?: object } = {}) => {
      const { metadata, ...pod } = annotated()
      const annotations = { ...metadata.annotations, ...more.annotations }
      return { ...pod, metadata: { ...metadata, ...more, annotations } }
    }

    it('leaves a governed pod out when it is called after the injector', async () => {
      shape = {}
      await using _ = await startMesh(client, webhook, { name: 'zz-mesh', namespace: 'team' })
      await untilMeshed()
      const stored = await meshed(governed())
      expect(namesOf(stored)).toEqual(GOVERNED)
      expect(stored.metadata).toMatchObject({
        labels: { 'sidecar.istio.io/inject': 'false', 'istio.io/dataplane-mode': 'none' },
        annotations: { 'linkerd.io/inject': 'disabled' },
      })
    })

    it('makes the injector refuse with the opt-out when it is called before, and admit a pod that has it', async () => {
      shape = {}
      await using _ = await startMesh(client, webhook, { name: 'aa-mesh', namespace: 'team' })
      await untilMeshed()
      const says = await refusalOf(client, createPod('team', governed()))
      const [name, value] = Object.entries({ ...Object.values(optOut)[0] })[0] ?? []
      expect(says).toContain(`is a container of ${mesh}, whose webhook was called before the injector`)
      expect(says).toContain(`${name}: ${value === 'false' ? '"false"' : value} in the pod template`)
      expect(says).not.toContain('capabilities')
      expect(namesOf(await meshed(governed(optOut)))).toEqual(GOVERNED)
    })
  })

  it('refuses a pod while its RuntimeClass is not in the cache of the operator', async () => {
    shape = {}
    const body = {
      ...{ apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', metadata: { name: 'young' } },
      handler: 'runsc',
    }
    await client.call({ method: 'POST', path: '/apis/node.k8s.io/v1/runtimeclasses', body })
    const young = annotated({ runtimeClassName: 'young' }, { name: 'young' })
    expect(await refusalOf(client, createPod('team', young))).toContain(
      'spec.runtimeClassName: the operator does not know the RuntimeClass young yet',
    )
  })

  it('keeps a running pod out of the ambient mode of Istio', async () => {
    shape = {}
    await post('team', annotated({}, { name: 'not-ambient' }))
    const label = (value: string | null) => ({
      ...{ method: 'PATCH' as const, path: '/api/v1/namespaces/team/pods/not-ambient' },
      contentType: 'application/merge-patch+json',
      body: { metadata: { labels: { 'istio.io/dataplane-mode': value, own: 'yes' } } },
    })
    for (const value of ['ambient', null])
      expect(await refusalOf(client, label(value))).toContain('metadata.labels[istio.io/dataplane-mode]')
    expect(await refusalOf(client, label('none'))).toBeNull()
  })

  it('keeps the label of a running pod when a controller writes that of the template again', async () => {
    shape = {}
    await post('team', annotated({}, { name: 'labelled' }))
    const path = '/api/v1/namespaces/team/pods/labelled'
    const patch = (value: string) => ({
      ...{ method: 'PATCH' as const, path, contentType: 'application/merge-patch+json' },
      body: { metadata: { labels: { 'chaperone.dev/inject': value, team: 'blue' } } },
    })
    type Labelled = { metadata: { labels: Record<string, string> } }
    const { metadata } = await client.call<Labelled>(patch('enabled'))
    expect(metadata.labels).toMatchObject({ 'chaperone.dev/inject': 'injected', team: 'blue' })
    expect(await refusalOf(client, patch('disabled'))).toContain(
      'metadata.labels[chaperone.dev/inject] from "injected" to "disabled"',
    )
  })

  describe('the certificates', () => {
    it('can be rotated while the API server calls', async () => {
      await certificates.refresh()
      await post('team', annotated({}, { name: 'after-refresh' }))
    })
  })

  it('publishes the CA bundle of the control plane to a namespace, and skips a missing namespace', async () => {
    const path = '/api/v1/namespaces/chaperone-system/configmaps/chaperone-control-plane-ca'
    await publishControlPlaneTrust(client, 'chaperone-system', 'PEM')
    await publishControlPlaneTrust(client, 'nowhere', 'PEM')
    const first = await client.call<{ data: object; metadata: object }>({ method: 'GET', path })
    expect(first.data).toEqual({ 'ca.crt': 'PEM' })
    await publishControlPlaneTrust(client, 'chaperone-system', 'PEM')
    expect(await client.call({ method: 'GET', path })).toEqual(first)
  })

  it('has admission policies whose expressions pass the type check of the API server', async () => {
    const path = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies'
    const checked = await eventually('the types are checked', async () => {
      const { items } = await client.call<{ items: CheckedPolicy[] }>({ method: 'GET', path })
      return items.every(({ status }) => status?.observedGeneration !== undefined) ? items : null
    })
    expect(checked.length).toBeGreaterThan(5)
    expect(checked.flatMap(({ status }) => status?.typeChecking?.expressionWarnings ?? [])).toEqual([])
  })

  it('blocks only governed pods while it is unreachable', async () => {
    await webhook[Symbol.asyncDispose]()
    const says = await refusalOf(client, createPod('team', annotated({}, { name: 'orphan' })))
    expect(says).toContain('annotated.chaperone.dev')
    expect(await refusalOf(client, createPod('closed', { metadata: { name: 'x' }, spec: SPEC }))).toContain(
      'required.chaperone.dev',
    )
    expect(await refusalOf(client, createPod('team', { metadata: { name: 'other' }, spec: SPEC }))).toBeNull()
  })
})
