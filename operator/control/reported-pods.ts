import type { KnownPod } from '../../core/wire/operator/pods.ts'

/** The pods that the control plane counts as existing, by `namespace/name`. */
export type ReportedPods = {
  /** Returns the reported pods of a name: more than one while the deletion of a former pod is not reported. */
  named(key: string): readonly KnownPod[]
  /** Adds a pod. Replaces a pod with the same UID. */
  add(pod: KnownPod): void
  remove(pod: KnownPod): void
}

export function createReportedPods(): ReportedPods {
  const byKey = new Map<string, readonly KnownPod[]>()
  const named = (key: string) => byKey.get(key) ?? []
  const without = (pod: KnownPod) => named(keyOfPod(pod)).filter(({ podUid }) => podUid !== pod.podUid)
  return {
    named,
    add: (pod) => void byKey.set(keyOfPod(pod), [...without(pod), pod]),
    remove(pod) {
      const others = without(pod)
      if (others.length > 0) byKey.set(keyOfPod(pod), others)
      else byKey.delete(keyOfPod(pod))
    },
  }
}

/**
 * Reports whether the control plane lacks the pod, its Sandbox or its claim. A claim that differs from the reported
 * claim does not count, because the control plane keeps the first claim of a pod.
 */
export function isUnreported(now: KnownPod, reported: readonly KnownPod[]): boolean {
  const known = reported.find(({ podUid }) => podUid === now.podUid)
  if (known === undefined) return true
  return OWNERS.some((owner) => Boolean(now[owner]) && !known[owner])
}

const OWNERS = ['sandbox', 'claim'] as const

export function keyOfPod({ namespace, name }: KnownPod): string {
  return `${namespace}/${name}`
}
