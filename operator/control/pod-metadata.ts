import * as z from 'zod'
import { ANNOTATIONS, INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import { governedWorkload, owningController } from '../../core/inject/agent-name.ts'
import { isSandbox } from '../../core/inject/sandbox.ts'
import type { KubeObject } from '../kube/objects.ts'

/** Agent and Gateway of a pod, both as `namespace/name`, and its workload as `KIND NAME`. */
export type Injection = { readonly agent: string; readonly gateway: string; readonly workload: string }

/** Cached metadata of an injected pod. */
export type InjectedPod = KubeObject & {
  /** Null when the annotations are missing or contradict each other. */
  readonly injection: Injection | null
  /** Sandbox that owns the pod; null for other pods. */
  readonly sandbox: { readonly name: string; readonly uid: string } | null
}

const Injected = z.object({ gateway: z.string().min(1), agent: z.string().min(1) })

export function injectedPod({ metadata }: KubeObject): InjectedPod {
  const { name, uid, resourceVersion, namespace = '' } = metadata
  return {
    metadata: { name, namespace, uid, resourceVersion },
    injection: injectionOf(metadata),
    sandbox: sandboxOf(metadata),
  }
}

function sandboxOf(metadata: KubeObject['metadata']): InjectedPod['sandbox'] {
  const owner = owningController(metadata)
  return owner?.uid !== undefined && isSandbox(owner) ? { name: owner.name, uid: owner.uid } : null
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
