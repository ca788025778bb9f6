import type { Logger } from 'pino'
import { FIELD_MANAGER } from '../kube/apply.ts'
import type { KubeClient } from '../kube/client.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { listPages, type Selection } from '../kube/list-pages.ts'
import { type KubeObject, pathOf, splitKey } from '../kube/objects.ts'
import { createReflector, type Reflector, type ReflectorTiming } from '../kube/reflector.ts'

export const NETWORK_POLICIES = { base: '/apis/networking.k8s.io/v1', plural: 'networkpolicies' }

/** A NetworkPolicy of one name, which the operator keeps in every namespace that needs it. */
export type WantedPolicy = {
  readonly name: string
  /**
   * Returns the spec and the namespaces that need the NetworkPolicy; null while the namespaces are not known yet, so
   * that nothing is written or deleted.
   */
  readonly wanted: () => { readonly namespaces: ReadonlySet<string>; readonly spec: object } | null
}

/** A stored NetworkPolicy that was added, changed or deleted. */
export type PolicyChange = { readonly name: string; readonly namespace: string }

export type NetworkPolicies = {
  /**
   * Applies the missing NetworkPolicies and deletes those of namespaces that need none. Writes nothing in a namespace
   * whose stored NetworkPolicy still equals the last write. Rejects when a write fails.
   */
  reconcile(): Promise<void>
  isStored(name: string, namespace: string): boolean
  stop(): Promise<void>
}

export type NetworkPoliciesDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly onChange: (change: PolicyChange) => void
  readonly timing?: ReflectorTiming
}

/** Discards the counts of the reflectors: the metrics of the operator do not cover these watches. */
const UNCOUNTED = { restarted: () => undefined, relisted: () => undefined }

/**
 * Maintains NetworkPolicies of fixed names, so that RBAC can limit the operator to these names. Only one process may
 * reconcile at a time: replicas of two versions would overwrite each other's specs.
 */
export function startNetworkPolicies(
  deps: NetworkPoliciesDeps,
  policies: readonly WantedPolicy[],
): NetworkPolicies {
  const kept = policies.map((policy) => keepPolicy(deps, policy))
  return {
    async reconcile() {
      for (const each of kept) await each.reconcile()
    },
    isStored: (name, namespace) => kept.some((each) => each.name === name && each.isStored(namespace)),
    async stop() {
      await Promise.all(kept.map((each) => each.stop()))
    },
  }
}

type KeptPolicy = Pick<NetworkPolicies, 'reconcile' | 'stop'> & {
  readonly name: string
  isStored(namespace: string): boolean
}

function keepPolicy(
  { client, log, onChange, timing }: NetworkPoliciesDeps,
  { name, wanted }: WantedPolicy,
): KeptPolicy {
  const stored: Reflector<KubeObject> = createReflector<KubeObject>({
    client,
    log,
    metrics: UNCOUNTED,
    ...(timing === undefined ? {} : { timing }),
    onChange: (key) => onChange({ name, namespace: splitKey(key).namespace }),
    resource: `NetworkPolicy ${name}`,
    selection: selectionOf(name),
    trim: ({ metadata }) => ({
      metadata: {
        name,
        uid: metadata.uid,
        resourceVersion: metadata.resourceVersion,
        ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      },
    }),
  })
  /** Spec and resulting resource version of the last write, by namespace. */
  const written = new Map<string, { readonly spec: string; readonly resourceVersion: string }>()

  async function keep(namespace: string, spec: object): Promise<void> {
    const last = written.get(namespace)
    const now = stored.get(`${namespace}/${name}`)?.metadata.resourceVersion
    const text = JSON.stringify(spec)
    if (last?.spec === text && last.resourceVersion === now) return
    const { metadata } = await applyPolicy(client, { name, namespace, spec })
    written.set(namespace, { spec: text, resourceVersion: metadata.resourceVersion })
  }

  return {
    name,
    isStored: (namespace) => stored.get(`${namespace}/${name}`) !== undefined,
    async reconcile() {
      const found = wanted()
      if (found === null || !stored.isSynced()) return
      for (const namespace of found.namespaces) await inNamespace(() => keep(namespace, found.spec))
      const left = stored.list().map(({ metadata }) => metadata.namespace ?? '')
      for (const namespace of left) {
        if (found.namespaces.has(namespace)) continue
        written.delete(namespace)
        await inNamespace(() => deletePolicy(client, namespace, name))
      }
    },
    stop: () => stored.stop(),
  }
}

type Applied = { readonly name: string; readonly namespace: string; readonly spec: object }

function applyPolicy(client: KubeClient, { name, namespace, spec }: Applied): Promise<KubeObject> {
  return client.call<KubeObject>({
    method: 'PATCH',
    path: pathOf(NETWORK_POLICIES, namespace, name),
    query: { fieldManager: FIELD_MANAGER, force: true },
    contentType: 'application/apply-patch+yaml',
    body: {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { name, namespace, labels: { 'app.kubernetes.io/part-of': 'chaperone' } },
      spec,
    },
  })
}

/** Deletes the NetworkPolicies of this name in all namespaces. */
export async function deletePolicies(client: KubeClient, name: string, signal: AbortSignal): Promise<void> {
  const { items } = await listPages<KubeObject>(client, selectionOf(name), signal)
  for (const { metadata } of items)
    await inNamespace(() => deletePolicy(client, metadata.namespace ?? '', name))
}

async function deletePolicy(client: KubeClient, namespace: string, name: string): Promise<void> {
  await client.call({ method: 'DELETE', path: pathOf(NETWORK_POLICIES, namespace, name) })
}

function selectionOf(name: string): Selection {
  return { path: pathOf(NETWORK_POLICIES), fieldSelector: `metadata.name=${name}`, metadataOnly: true }
}

/** Runs the write. Ignores its failure in a namespace that does not exist or is being deleted. */
async function inNamespace(write: () => Promise<void>): Promise<void> {
  try {
    await write()
  } catch (error) {
    if (!hasCode(error, 'not_found') && !hasCode(error, 'forbidden')) throw error
  }
}
