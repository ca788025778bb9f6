import type { EventRecorder } from '../kube/events.ts'
import type { RefusedOwner } from './review-pod.ts'

/** Says on the workload why its pod was refused; nobody waits for it. */
export function createRefusalEvents(recorder: EventRecorder): (owner: RefusedOwner, message: string) => void {
  return ({ apiVersion, kind, name, uid, namespace }, message) => {
    const target = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion: '' } }
    // The recorder never rejects.
    void recorder.record(target, {
      type: 'Warning',
      reason: 'InjectionRefused',
      action: 'Inject',
      note: message,
    })
  }
}
