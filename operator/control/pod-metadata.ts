import * as z from 'zod'
import { ANNOTATIONS, INJECT_LABEL } from '../../core/capture/pod-contract.ts'
import type { KubeObject } from '../kube/objects.ts'

/** Agent and Gateway of a pod, `namespace/name` both. */
export type Injection = { readonly agent: string; readonly gateway: string }

/** What is kept of the metadata of a pod with a sidecar; `injection` is null where the annotations contradict each other. */
export type InjectedPod = KubeObject & { readonly injection: Injection | null }

const Injected = z.object({ gateway: z.string().min(1), agent: z.string().min(1) })

export function injectedPod({ metadata }: KubeObject): InjectedPod {
  const { name, uid, resourceVersion, namespace = '' } = metadata
  return { metadata: { name, namespace, uid, resourceVersion }, injection: injectionOf(metadata) }
}

/** Believes the injector's own annotation, and only where the annotations that admission compares say the same. */
function injectionOf({
  labels = {},
  annotations = {},
  namespace = '',
}: KubeObject['metadata']): Injection | null {
  const written = Injected.safeParse(json(annotations[ANNOTATIONS.injected]))
  if (!written.success || labels[INJECT_LABEL] !== 'injected') return null
  const { gateway, agent } = written.data
  const named = annotations[ANNOTATIONS.gateway] ?? ''
  const isSame = gateway === (named.includes('/') ? named : `${namespace}/${named}`)
  return isSame && annotations[ANNOTATIONS.agent] === agent
    ? { gateway, agent: `${namespace}/${agent}` }
    : null
}

function json(text = 'null'): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // Not what the injector writes: the pod counts as not injected.
    return null
  }
}
