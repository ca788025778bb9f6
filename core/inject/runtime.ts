import type { Pod } from './pod.ts'
import { type Refusal, refusal } from './refusals/refusal.ts'

/**
 * Container runtime that needs other capture rules than runc, because of its network stack. Kata runs a Linux kernel,
 * so it has the rules of runc.
 */
export type Runtime = 'gvisor'

/** Finds RuntimeClasses in the informer cache, without calls to the API server. */
export type RuntimeLookup = {
  /** Returns the handler of a RuntimeClass; undefined for a RuntimeClass that is not cached yet. */
  handlerOf(name: string): string | undefined
}

/**
 * Returns the runtime behind the handler of a RuntimeClass, by common names of handlers such as `runsc`, `runsc-kvm`
 * and `gvisor`; undefined for a runtime with a Linux kernel.
 */
export function runtimeOf(handler: string): Runtime | undefined {
  return /runsc|gvisor/i.test(handler) ? 'gvisor' : undefined
}

export type ResolvedRuntime =
  | { readonly kind: 'known'; readonly runtime: Runtime | undefined }
  | { readonly kind: 'unknown'; readonly refusal: Refusal }

/** Resolves the runtime of a pod. The runtime is unknown if the pod names a RuntimeClass that is not cached yet. */
export function runtimeOfPod({ spec }: Pod, lookup: RuntimeLookup): ResolvedRuntime {
  const name = spec.runtimeClassName
  if (name === undefined || name === '') return { kind: 'known', runtime: undefined }
  const handler = lookup.handlerOf(name)
  if (handler !== undefined) return { kind: 'known', runtime: runtimeOf(handler) }
  return {
    kind: 'unknown',
    refusal: refusal(
      'spec.runtimeClassName',
      `the operator does not know the RuntimeClass ${name} yet, so it cannot choose how to capture the traffic of the pod`,
      'create the pod again; if the problem remains, see the log of the operator',
    ),
  }
}
