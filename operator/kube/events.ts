import type { Logger } from 'pino'
import { sha256Hex } from '../../runtime/sha256.ts'
import type { KubeClient } from './client.ts'
import { hasCode } from './kube-failure.ts'
import { type KubeObject, pathOf, RESOURCES } from './objects.ts'

/** A Kubernetes Event, which `kubectl describe` shows under its object. */
export type EventNote = {
  readonly type: 'Normal' | 'Warning'
  /** Reason of the Event in CamelCase. */
  readonly reason: string
  readonly action: string
  readonly note: string
}

export type EventTarget = KubeObject & { readonly apiVersion: string; readonly kind: string }

export type EventRecorder = {
  /**
   * Writes an Event. Never rejects: a failed write is logged. The same Event is written once in ten minutes, whichever
   * replica of the operator writes it.
   */
  record(target: EventTarget, event: EventNote): Promise<void>
}

export type EventRecorderDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly log: Logger
  /** Name of the operator process that writes the Event. */
  readonly instance: string
}

/** Namespace of Events about cluster-scoped objects. The API server admits no other namespace. */
const CLUSTER_NAMESPACE = 'default'
const REPEAT_MS = 10 * 60_000
const MAX_REMEMBERED = 10_000
/** Maximum length of the note in characters, a limit of the API server. */
const MAX_NOTE = 1_024

export function createEventRecorder(deps: EventRecorderDeps): EventRecorder {
  const { client, log, instance } = deps
  const written = new Map<string, number>()

  function isRecent(target: EventTarget, event: EventNote): boolean {
    const key = `${target.metadata.uid} ${event.type} ${event.reason} ${event.note}`
    const at = written.get(key)
    if (at !== undefined && performance.now() - at < REPEAT_MS) return true
    if (written.size >= MAX_REMEMBERED) written.clear()
    written.set(key, performance.now())
    return false
  }

  return {
    async record(target, event) {
      if (isRecent(target, event)) return
      const namespace = target.metadata.namespace ?? CLUSTER_NAMESPACE
      try {
        const path = pathOf(RESOURCES.Event, namespace)
        await client.call({ method: 'POST', path, body: eventBody(target, event, { namespace, instance }) })
      } catch (error) {
        // Another replica has written the Event.
        if (hasCode(error, 'conflict')) return
        log.warn(
          { err: error, object: target.metadata.name, reason: event.reason },
          'event could not be written',
        )
      }
    },
  }
}

function eventBody(
  { apiVersion, kind, metadata: { name, namespace, uid } }: EventTarget,
  { type, reason, action, note }: EventNote,
  place: { readonly namespace: string; readonly instance: string },
) {
  const interval = Math.floor(Date.now() / REPEAT_MS)
  const text = JSON.stringify([uid, type, reason, note, interval])
  const hash = sha256Hex(text).slice(0, 16)
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${name.slice(0, 200)}.${hash}`, namespace: place.namespace },
    eventTime: `${new Date().toISOString().slice(0, -1)}000Z`,
    reportingController: 'chaperone.dev/operator',
    reportingInstance: place.instance.slice(0, 128),
    type,
    reason,
    action,
    note: note.slice(0, MAX_NOTE),
    regarding: { apiVersion, kind, name, uid, ...(namespace === undefined ? {} : { namespace }) },
  }
}
