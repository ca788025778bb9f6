import type { EventRecorder } from '../kube/events.ts'
import type { RefusedOwner } from './review-pod.ts'

/** Records an Event on the workload of a refused pod, in the background. */
export function createRefusalEvents(recorder: EventRecorder): (owner: RefusedOwner, message: string) => void {
  return ({ apiVersion, kind, name, uid, namespace }, message) => {
    const target = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion: '' } }
    void recorder.record(target, {
      type: 'Warning',
      reason: 'InjectionRefused',
      action: 'Inject',
      note: message,
    })
  }
}
