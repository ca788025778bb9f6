import { once } from 'node:events'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import type { KubeClient } from '../../../operator/kube/client.ts'
import { createCertificateAuthority, issueLeaf } from '../../../operator/webhook/leaf.ts'

type Metadata = {
  readonly labels?: Readonly<Record<string, string>>
  readonly annotations?: Readonly<Record<string, string>>
}
type Pod = {
  readonly metadata: Metadata
  readonly spec: {
    readonly containers: readonly object[]
    readonly initContainers?: readonly object[]
    readonly volumes?: readonly object[]
  }
}
/** Webhook of a service mesh: its selector, the condition that it evaluates itself, and what it adds to a pod. */
export type MeshWebhook = {
  readonly objectSelector: object
  readonly injects: (metadata: Metadata) => boolean
  readonly adds: {
    readonly labels: Readonly<Record<string, string>>
    readonly annotations: Readonly<Record<string, string>>
    readonly initContainers: readonly object[]
    readonly containers: readonly object[]
    readonly volumes: readonly object[]
  }
}

const restricted = (runAsUser: number, add?: readonly string[]) => ({
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'], ...(add && { add }) },
  privileged: false,
  runAsGroup: runAsUser,
  runAsUser,
})
const token = (name: string, audience: string) => ({
  name,
  projected: { sources: [{ serviceAccountToken: { audience, expirationSeconds: 43_200, path: 'token' } }] },
})

/**
 * Istio 1.2x with the namespace labelled `istio-injection: enabled`: istiod-mutatingwebhook.yaml (`namespace.…` and its
 * objectSelector) and injection-template.yaml. The label precedes the annotation (`injectRequired` of pkg/kube/inject).
 */
export const ISTIO: MeshWebhook = {
  objectSelector: {
    matchExpressions: [{ key: 'sidecar.istio.io/inject', operator: 'NotIn', values: ['false'] }],
  },
  injects({ labels = {}, annotations = {} }) {
    const key = 'sidecar.istio.io/inject'
    return !['false', 'no', 'n', 'off'].includes(labels[key] ?? annotations[key] ?? '')
  },
  adds: {
    labels: { 'security.istio.io/tlsMode': 'istio' },
    annotations: {
      'sidecar.istio.io/status': '{"initContainers":["istio-init"],"containers":["istio-proxy"]}',
    },
    initContainers: [
      {
        name: 'istio-init',
        image: 'docker.io/istio/proxyv2:1.27.0',
        args: ['istio-iptables', '-p', '15001', '-z', '15006', '-u', '1337', '-m', 'REDIRECT', '-i', '*'],
        securityContext: { ...restricted(0, ['NET_ADMIN', 'NET_RAW']), runAsNonRoot: false },
      },
    ],
    containers: [
      {
        name: 'istio-proxy',
        image: 'docker.io/istio/proxyv2:1.27.0',
        args: ['proxy', 'sidecar'],
        ports: [{ containerPort: 15_090, name: 'http-envoy-prom', protocol: 'TCP' }],
        securityContext: { ...restricted(1337), readOnlyRootFilesystem: true, runAsNonRoot: true },
      },
    ],
    volumes: [{ name: 'istio-envoy', emptyDir: { medium: 'Memory' } }, token('istio-token', 'istio-ca')],
  },
}

/** Linkerd 2.1x in a namespace annotated `linkerd.io/inject: enabled`: the webhook is called for every pod and decides itself. */
export const LINKERD: MeshWebhook = {
  objectSelector: {},
  injects: ({ annotations = {} }) => annotations['linkerd.io/inject'] !== 'disabled',
  adds: {
    labels: { 'linkerd.io/control-plane-ns': 'linkerd' },
    annotations: { 'linkerd.io/proxy-version': 'edge-25.8.1' },
    initContainers: [
      {
        name: 'linkerd-init',
        image: 'cr.l5d.io/linkerd/proxy-init:v2.4.3',
        args: ['--incoming-proxy-port', '4143', '--outgoing-proxy-port', '4140', '--proxy-uid', '2102'],
        securityContext: { ...restricted(65_534, ['NET_ADMIN', 'NET_RAW']), runAsNonRoot: true },
      },
      {
        name: 'linkerd-proxy',
        image: 'cr.l5d.io/linkerd/proxy:edge-25.8.1',
        restartPolicy: 'Always',
        ports: [{ containerPort: 4143, name: 'linkerd-proxy', protocol: 'TCP' }],
        securityContext: { ...restricted(2102), readOnlyRootFilesystem: true, runAsNonRoot: true },
      },
    ],
    containers: [],
    volumes: [
      { name: 'linkerd-proxy-init-xtables-lock', emptyDir: {} },
      token('linkerd-identity-token', 'identity.l5d.io'),
    ],
  },
}

/** Registers the webhook of a mesh for pods of the namespace. The API server calls webhooks in the order of the names. */
export async function startMesh(
  client: KubeClient,
  mesh: MeshWebhook,
  { name, namespace }: { readonly name: string; readonly namespace: string },
): Promise<AsyncDisposable> {
  const ca = createCertificateAuthority(Date.now())
  const leaf = issueLeaf(ca, ['127.0.0.1'], Date.now())
  const server = createServer({ cert: leaf.certPem, key: leaf.keyPem }, async (question, answer) => {
    const { request } = JSON.parse(await text(question)) as { request: { uid: string; object: Pod } }
    const patch = mesh.injects(request.object.metadata) ? patchOf(request.object, mesh) : []
    const encoded = Buffer.from(JSON.stringify(patch)).toString('base64')
    const response = { uid: request.uid, allowed: true, patchType: 'JSONPatch', patch: encoded }
    answer.setHeader('content-type', 'application/json')
    answer.end(JSON.stringify({ apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const path = '/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations'
  const webhook = {
    name: 'mesh.example.test',
    clientConfig: {
      url: `https://127.0.0.1:${port}/`,
      caBundle: Buffer.from(ca.certPem).toString('base64'),
    },
    admissionReviewVersions: ['v1'],
    sideEffects: 'None',
    failurePolicy: 'Fail',
    reinvocationPolicy: 'Never',
    namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
    objectSelector: mesh.objectSelector,
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
  }
  const kind = 'MutatingWebhookConfiguration'
  const body = {
    ...{ apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name } },
    webhooks: [webhook],
  }
  await client.call({ method: 'POST', path, body })
  return {
    async [Symbol.asyncDispose]() {
      await client.call({ method: 'DELETE', path: `${path}/${name}` })
      server.closeAllConnections()
      await once(server.close(), 'close')
    },
  }
}

function patchOf({ metadata, spec }: Pod, { adds }: MeshWebhook): readonly object[] {
  const merged: ReadonlyArray<readonly [path: string, value: object]> = [
    ['/metadata/labels', { ...metadata.labels, ...adds.labels }],
    ['/metadata/annotations', { ...metadata.annotations, ...adds.annotations }],
    ['/spec/initContainers', [...adds.initContainers, ...(spec.initContainers ?? [])]],
    ['/spec/containers', [...spec.containers, ...adds.containers]],
    ['/spec/volumes', [...(spec.volumes ?? []), ...adds.volumes]],
  ]
  return merged.map(([path, value]) => ({ op: 'add', path, value }))
}
