import { KubeConfig } from '@kubernetes/client-node'
import { kubeconfigAccess } from '../../../kube/kubeconfig-access.ts'
import { createKubeClient, type KubeClient } from '../../../operator/kube/client.ts'
import { type KubeObject, pathOf, RESOURCES, type ResourcePath } from '../../../operator/kube/objects.ts'
import { type CrdSource, crd } from '../../../scripts/crds/crd.ts'
import { KINDS } from '../../../scripts/crds/kinds.ts'
import { eventually } from '../../support/eventually.ts'
import type { KubeApiServer } from '../../support/kube-api-server.ts'

export type OurKind = 'Gateway' | 'Connector' | 'Permission' | 'Policy'
export type Any = KubeObject & Readonly<Record<string, unknown>>

/** What a person with kubectl can do, for tests. */
export type Cluster = Disposable & {
  readonly client: KubeClient
  installCrds(): Promise<void>
  namespace(name: string): Promise<void>
  /** Null removes a label. */
  label(namespace: string, labels: Readonly<Record<string, string | null>>): Promise<void>
  create(kind: OurKind, namespace: string, name: string, spec: object): Promise<Any>
  /** A merge patch. */
  patch(kind: keyof typeof RESOURCES, namespace: string, name: string, patch: object): Promise<Any>
  get(kind: keyof typeof RESOURCES, namespace: string, name: string): Promise<Any>
  remove(kind: keyof typeof RESOURCES, namespace: string, name: string): Promise<void>
  createRaw(resource: ResourcePath, namespace: string | undefined, object: object): Promise<Any>
}

function kubeConfigOf(file: string): KubeConfig {
  const config = new KubeConfig()
  config.loadFromFile(file)
  return config
}

export function openCluster({ kubeconfigPath }: Pick<KubeApiServer, 'kubeconfigPath'>): Cluster {
  const client = createKubeClient(kubeconfigAccess(kubeConfigOf(kubeconfigPath)))
  const createRaw: Cluster['createRaw'] = (resource, namespace, body) =>
    client.call({
      method: 'POST',
      path: pathOf(resource, namespace),
      query: { fieldValidation: 'Strict' },
      body,
    })
  return {
    client,
    createRaw,
    async installCrds() {
      for (const source of KINDS) await installCrd(client, source)
    },
    async namespace(name) {
      await createRaw({ base: '/api/v1', plural: 'namespaces' }, undefined, {
        ...{ apiVersion: 'v1', kind: 'Namespace', metadata: { name } },
      })
    },
    async label(name, labels) {
      await client.call({
        method: 'PATCH',
        path: pathOf({ base: '/api/v1', plural: 'namespaces' }, undefined, name),
        contentType: 'application/merge-patch+json',
        body: { metadata: { labels } },
      })
    },
    create: (kind, namespace, name, spec) =>
      createRaw(RESOURCES[kind], namespace, {
        ...{ apiVersion: 'chaperone.dev/v1alpha1', kind, metadata: { name, namespace }, spec },
      }),
    patch: (kind, namespace, name, body) =>
      client.call({
        method: 'PATCH',
        path: pathOf(RESOURCES[kind], namespace, name),
        contentType: 'application/merge-patch+json',
        body,
      }),
    get: (kind, namespace, name) =>
      client.call({ method: 'GET', path: pathOf(RESOURCES[kind], namespace, name) }),
    async remove(kind, namespace, name) {
      await client.call({ method: 'DELETE', path: pathOf(RESOURCES[kind], namespace, name) })
    },
    [Symbol.dispose]: () => client[Symbol.dispose](),
  }
}

const CRDS = { base: '/apis/apiextensions.k8s.io/v1', plural: 'customresourcedefinitions' }

async function installCrd(client: KubeClient, source: CrdSource): Promise<void> {
  const body = crd(source)
  await client.call({ method: 'POST', path: pathOf(CRDS), query: { fieldValidation: 'Strict' }, body })
  await eventually(`${source.plural} are served`, async () => {
    const { status } = await client.call<{
      status?: { conditions?: Array<{ type: string; status: string }> }
    }>({
      method: 'GET',
      path: pathOf(CRDS, undefined, body.metadata.name),
    })
    const is = (type: string) =>
      status?.conditions?.some((each) => each.type === type && each.status === 'True') === true
    const broken = status?.conditions?.find((each) => each.type === 'NonStructuralSchema')
    if (broken !== undefined) throw new Error(JSON.stringify(broken))
    return is('Established') && is('NamesAccepted') ? true : null
  })
}
