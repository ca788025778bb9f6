import * as z from 'zod'
import { ANNOTATIONS, INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import { governedWorkload } from '../../core/inject/agent-name.ts'
import type { KubeObject } from '../kube/objects.ts'

/** Agent and Gateway of a pod, both as `namespace/name`, and its workload as `KIND NAME`. */
export type Injection = { readonly agent: string; readonly gateway: string; readonly workload: string }

/** Cached metadata of an injected pod. `injection` is null when the annotations contradict each other. */
export type InjectedPod = KubeObject & { readonly injection: Injection | null }

const Injected = z.object({ gateway: z.string().min(1), agent: z.string().min(1) })

export function injectedPod({ metadata }: KubeObject): InjectedPod {
  const { name, uid, resourceVersion, namespace = '' } = metadata
  return { metadata: { name, namespace, uid, resourceVersion }, injection: injectionOf(metadata) }
}

/**
 * Reads the injector's annotation of a pod. Returns null unless the pod has the label of injected pods, which admission
 * policies protect, and its other annotations name the same agent and Gateway.
 */
function injectionOf(metadata: KubeObject['metadata']): Injection | null {
  const { labels = {}, annotations = {}, namespace = '' } = metadata
  const parsed = Injected.safeParse(json(annotations[ANNOTATIONS.injected]))
  if (!parsed.success || labels[INJECT_LABEL] !== 'injected') return null
  const { gateway, agent } = parsed.data
  const named = annotations[ANNOTATIONS.gateway] ?? ''
  const isSame = gateway === (named.includes('/') ? named : `${namespace}/${named}`)
  return isSame && annotations[ANNOTATIONS.agent] === agent
    ? { gateway, agent: `${namespace}/${agent}`, workload: workloadOf(metadata) }
    : null
}

/** Returns the workload of a governed pod. A pod without a controller is a workload of its own. */
function workloadOf(metadata: KubeObject['metadata']): string {
  return governedWorkload(metadata) ?? `Pod ${metadata.name}`
}

function json(text = 'null'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // An annotation that is not JSON was not written by the injector, so the pod counts as not injected.
    return null
  }
}
