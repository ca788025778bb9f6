import type { Logger } from 'pino'
import { type DeletedGuard, watchGuardObjects } from '../guard/guard-watch.ts'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'

export type GuardRestorationDeps = {
  readonly client: KubeClient
  readonly log: Logger
  readonly recorder: EventRecorder
  readonly restorers: {
    readonly webhook: () => Promise<void>
    readonly policy: () => Promise<void>
    /** Resolves with false when the namespace needs no trust bundle. */
    readonly trust: (namespace: string) => Promise<boolean>
  }
}

/** Reflector metrics that discard all counts, because the operator's metrics cover the watches of custom resources only. */
const UNCOUNTED = { restarted: () => undefined, relisted: () => undefined }
const CONSEQUENCES: Readonly<Record<DeletedGuard['part'], string>> = {
  webhook: 'While it is away, pods with the annotation chaperone.dev/gateway are refused',
  policy: 'While it and the webhook are away, pods can start ungoverned',
  trust: 'While it is away, new governed pods of the namespace cannot start',
}

/** Restores deleted objects of the guard at once, and writes an Event about each deletion. */
export function startGuardRestoration(deps: GuardRestorationDeps): { stop(): Promise<void> } {
  const { client, log } = deps
  return watchGuardObjects({
    ...{ client, log, metrics: UNCOUNTED },
    onDeleted(deleted) {
      const { kind, metadata } = deleted
      restore(deleted, deps).catch((error: unknown) => {
        log.error({ err: error, kind, name: metadata.name }, 'deleted guard object could not be restored')
      })
    },
  })
}

async function restore(
  deleted: DeletedGuard,
  { log, recorder, restorers }: GuardRestorationDeps,
): Promise<void> {
  const { part, apiVersion, kind, metadata } = deleted
  if (part === 'trust') {
    if (!(await restorers.trust(metadata.namespace ?? ''))) return
  } else await restorers[part]()
  log.warn({ kind, name: metadata.name, namespace: metadata.namespace }, 'deleted guard object restored')
  await recorder.record(
    { apiVersion, kind, metadata },
    {
      ...{ type: 'Warning', reason: 'GuardDeleted', action: 'Restore' },
      note: `${kind} ${metadata.name} was deleted, and Chaperone restored it. ${CONSEQUENCES[part]}. The audit log of the API server names who deleted it.`,
    },
  )
}
