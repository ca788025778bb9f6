import type { Logger } from 'pino'
import { VOLUMES } from '../../core/capture/pod-contract.ts'
import type { KubeClient } from '../kube/client.ts'
import { type KubeObject, pathOf, RESOURCES, type ResourcePath, splitKey } from '../kube/objects.ts'
import { createReflector, type ReflectorMetrics } from '../kube/reflector.ts'
import { CONFIGURATIONS, MANIFESTS_CONFIGURATION, WEBHOOK_CONFIGURATION } from '../webhook/configuration.ts'
import { GUARD_RESOURCES } from './apply-guard.ts'
import { guardNames } from './guard-names.ts'

/** A deleted object without which pods can start ungoverned, or cannot start. */
export type DeletedGuard = {
  /** `webhook`: a webhook configuration. `policy`: a policy or binding. `trust`: the trust bundle of a namespace. */
  readonly part: 'webhook' | 'policy' | 'trust'
  readonly apiVersion: string
  readonly kind: string
  /** Name and UID that the object had; the namespace only of a trust bundle. */
  readonly metadata: KubeObject['metadata']
}

export type GuardWatchDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly metrics: ReflectorMetrics
  readonly onDeleted: (deleted: DeletedGuard) => void
}

type Watched = Pick<DeletedGuard, 'part' | 'apiVersion' | 'kind'> & {
  readonly name: string
  readonly resource: ResourcePath
}

const ADMISSION = 'admissionregistration.k8s.io/v1'

/**
 * Watches the objects that the guard consists of, each by its name: the operator has no right to list others. Only
 * deletions are reported. A changed object is written again by the timer of the guard, because replicas of two
 * versions would otherwise overwrite each other without a pause.
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
      ...{ part: 'webhook' as const, apiVersion: ADMISSION, kind, name },
      resource: CONFIGURATIONS[kind],
    })),
    ...guardNames().map(({ kind, name }) => ({
      ...{ part: 'policy' as const, apiVersion: ADMISSION, kind, name },
      resource: GUARD_RESOURCES[kind],
    })),
    {
      ...{ part: 'trust' as const, apiVersion: 'v1', kind: 'ConfigMap', name: VOLUMES.controlPlane.name },
      resource: RESOURCES.ConfigMap,
    },
  ]
}

function watchOne(
  { resource, name, ...about }: Watched,
  { client, log, metrics, onDeleted }: GuardWatchDeps,
) {
  const uids = new Map<string, string>()
  const reflector = createReflector<KubeObject>({
    ...{ client, log, metrics, resource: `${about.kind} ${name}` },
    selection: { path: pathOf(resource), fieldSelector: `metadata.name=${name}`, metadataOnly: true },
    onChange(key) {
      const found = reflector.get(key)
      if (found !== undefined) {
        uids.set(key, found.metadata.uid)
        return
      }
      const uid = uids.get(key) ?? ''
      uids.delete(key)
      const { namespace } = splitKey(key)
      const place = namespace === '' ? {} : { namespace }
      onDeleted({ ...about, metadata: { name, uid, resourceVersion: '', ...place } })
    },
    trim: ({ metadata: { name: own, namespace, uid, resourceVersion } }) => ({
      metadata: { name: own, uid, resourceVersion, ...(namespace === undefined ? {} : { namespace }) },
    }),
  })
  return reflector
}
