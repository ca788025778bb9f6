import type { EventRecorder } from '../kube/events.ts'
import type { RefusedOwner } from './review-pod.ts'

/** Records Events on the workloads of pods that are being created, in the background. */
export function createInjectionEvents(recorder: EventRecorder) {
  const on =
    (type: 'Normal' | 'Warning', reason: string) =>
    ({ apiVersion, kind, name, uid, namespace }: RefusedOwner, note: string): void => {
      const target = { apiVersion, kind, metadata: { name, namespace, uid, resourceVersion: '' } }
      void recorder.record(target, { type, reason, action: 'Inject', note })
    }
  return {
    onRefused: on('Warning', 'InjectionRefused'),
    onChoice: on('Normal', 'InterceptionChosen'),
  }
}
