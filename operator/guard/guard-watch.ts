import type { Logger } from 'pino'
import { VOLUMES } from '../../core/capture/pod-contract.ts'
import type { KubeClient } from '../kube/client.ts'
import { isChangedByOthers, managedFieldsOf } from '../kube/managed-fields.ts'
import { type KubeObject, pathOf, RESOURCES, type ResourcePath, splitKey } from '../kube/objects.ts'
import { createReflector, type ReflectorMetrics } from '../kube/reflector.ts'
import { CONFIGURATIONS, MANIFESTS_CONFIGURATION, WEBHOOK_CONFIGURATION } from '../webhook/configuration.ts'
import { GUARD_RESOURCES } from './apply-guard.ts'
import { guardNames } from './guard-names.ts'

/** An object without which pods can start ungoverned, or cannot start. */
export type GuardPart = {
  /** `webhook`: a webhook configuration. `policy`: a policy or binding. `trust`: the trust bundle of a namespace. */
  readonly part: 'webhook' | 'policy' | 'trust'
  readonly apiVersion: string
  readonly kind: string
}

/**
 * Deletion of an object of the guard (webhook configurations, admission policies, trust bundles), or a change
 * of it by another client.
 */
export type GuardLoss = GuardPart & {
  readonly change: 'deleted' | 'changed'
  /** Path of the object in the API. */
  readonly path: string
  /**
   * Metadata of the object. After a deletion, it contains only the name, the UID (empty if unknown) and the namespace.
   */
  readonly metadata: KubeObject['metadata']
}

export type GuardWatchDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  /** Called for each deletion, and for each change by another client. */
  readonly onLoss: (loss: GuardLoss) => void
}

type Watched = GuardPart & {
  readonly name: string
  readonly resource: ResourcePath
}

const ADMISSION = 'admissionregistration.k8s.io/v1'

/**
 * Watches the objects of the guard, each by its name, because the operator has no right to list other objects
 * of these kinds. Writes of the operator are not reported, because replicas of two versions would otherwise
 * overwrite each other without a pause.
 */
export function watchGuardObjects(deps: GuardWatchDeps): { stop(): Promise<void> } {
  const watches = watchedObjects().map((watched) => watchOne(watched, deps))
  return {
    async stop() {
      await Promise.all(watches.map((watch) => watch.stop()))
    },
  }
}

function watchedObjects(): readonly Watched[] {
  const webhooks = [
    { kind: 'MutatingWebhookConfiguration', name: WEBHOOK_CONFIGURATION },
    { kind: 'ValidatingWebhookConfiguration', name: MANIFESTS_CONFIGURATION },
  ] as const
  return [
    ...webhooks.map(({ kind, name }) => ({
      part: 'webhook' as const,
      apiVersion: ADMISSION,
      kind,
      name,
      resource: CONFIGURATIONS[kind],
    })),
    ...guardNames().map(({ kind, name }) => ({
      part: 'policy' as const,
      apiVersion: ADMISSION,
      kind,
      name,
      resource: GUARD_RESOURCES[kind],
    })),
    {
      part: 'trust' as const,
      apiVersion: 'v1',
      kind: 'ConfigMap',
      name: VOLUMES.controlPlane.name,
      resource: RESOURCES.ConfigMap,
    },
  ]
}

function watchOne({ resource, name, ...about }: Watched, { client, log, metrics, onLoss }: GuardWatchDeps) {
  const seen = new Map<string, KubeObject>()
  const reflector = createReflector<KubeObject>({
    client,
    log,
    metrics,
    resource: `${about.kind} ${name}`,
    selection: { path: pathOf(resource), fieldSelector: `metadata.name=${name}`, metadataOnly: true },
    onChange(key) {
      const { namespace } = splitKey(key)
      const place = namespace === '' ? {} : { namespace }
      const path = pathOf(resource, place.namespace, name)
      const [before, now] = [seen.get(key), reflector.get(key)]
      if (now === undefined) {
        seen.delete(key)
        const uid = before?.metadata.uid ?? ''
        onLoss({ ...about, change: 'deleted', path, metadata: { name, uid, resourceVersion: '', ...place } })
        return
      }
      seen.set(key, now)
      const known = before === undefined ? null : managedFieldsOf(before)
      if (isChangedByOthers(known, managedFieldsOf(now)))
        onLoss({ ...about, change: 'changed', path, metadata: now.metadata })
    },
  })
  return reflector
}
