import { ANNOTATIONS } from '../../core/capture/pod-contract.ts'
import { owningController } from '../../core/inject/agent-name.ts'
import { SANDBOX_EXTENSIONS_GROUP, SANDBOX_GROUP, type Sandbox } from '../../core/inject/sandbox.ts'
import type { Sandboxes } from '../cluster/pods/sandboxes.ts'
import type { RunningPod } from '../guard/judge-pod.ts'
import type { KubeClient } from '../kube/client.ts'
import type { EventRecorder } from '../kube/events.ts'
import { hasCode } from '../kube/kube-failure.ts'
import { pathOf } from '../kube/objects.ts'

/** API version of agent-sandbox for Events about its objects and for deletions of Sandboxes. */
const VERSION = 'v1beta1'
const SANDBOXES = { base: `/apis/${SANDBOX_GROUP}/${VERSION}`, plural: 'sandboxes' }

export type PoolMembersDeps = {
  readonly client: KubeClient
  readonly recorder: EventRecorder
  readonly sandboxes: Omit<Sandboxes, 'stop' | 'templateNamespaces'>
}

/** Handles pods of warm pools that were created before their SandboxTemplate named a Gateway. */
export type PoolMembers = {
  /** Returns the pod with the Gateway of its SandboxTemplate, if the pod has no annotation of its own. */
  expected(pod: RunningPod): RunningPod
  /** Records an Event on the pool of a pod without a sidecar. */
  report(pod: RunningPod): void
  /**
   * Deletes the Sandbox of a pod to which `expected` added the Gateway, so that the pool creates another Sandbox; a
   * Sandbox with a claim stays. Resolves with false for any other pod, which the caller evicts.
   */
  replace(pod: RunningPod): Promise<boolean>
}

export function createPoolMembers({ client, recorder, sandboxes }: PoolMembersDeps): PoolMembers {
  /**
   * Copies of pods to which `expected` added the Gateway of their SandboxTemplate. After an eviction, their Sandbox
   * would create the pod without the Gateway again.
   */
  const withGateway = new WeakSet<RunningPod>()

  function sandboxOf({ metadata }: RunningPod): (Sandbox & { readonly name: string }) | null {
    const owner = owningController(metadata)
    if (owner === undefined) return null
    const found = sandboxes.sandboxOf(metadata.namespace ?? '', owner.name)
    return found === undefined || found.uid !== owner.uid ? null : { ...found, name: owner.name }
  }

  return {
    expected(pod) {
      const { namespace = '', annotations } = pod.metadata
      const template = sandboxOf(pod)?.template
      if (template == null || annotations?.[ANNOTATIONS.gateway] !== undefined) return pod
      const gateway = sandboxes.templateOf(namespace, template)?.gateway
      if (gateway == null) return pod
      const expected = {
        ...pod,
        metadata: { ...pod.metadata, annotations: { ...annotations, [ANNOTATIONS.gateway]: gateway } },
      }
      withGateway.add(expected)
      return expected
    },
    report(pod) {
      const sandbox = sandboxOf(pod)
      if (sandbox?.pool == null) return
      const { namespace = '' } = pod.metadata
      void recorder.record(
        {
          apiVersion: `${SANDBOX_EXTENSIONS_GROUP}/${VERSION}`,
          kind: 'SandboxWarmPool',
          metadata: { ...sandbox.pool, namespace, resourceVersion: '' },
        },
        {
          type: 'Warning',
          reason: 'PoolNotGoverned',
          action: 'Watch',
          note: `Members of this pool run without a sidecar, because they were created before SandboxTemplate ${sandbox.template} named a Gateway. A claim that adopts such a member does not become Ready. Set spec.replicas to 0 and then back to its number, so that the pool creates governed members.`,
        },
      )
    },
    async replace(pod) {
      const sandbox = sandboxOf(pod)
      if (sandbox === null || !withGateway.has(pod)) return false
      const { namespace = '' } = pod.metadata
      const resourceVersion = sandboxes.versionOf(namespace, sandbox.name)
      if (sandbox.pool !== null && resourceVersion !== undefined)
        await deleteSandbox(client, pathOf(SANDBOXES, namespace, sandbox.name), {
          uid: sandbox.uid,
          resourceVersion,
        })
      return true
    },
  }
}

/**
 * Deletes a Sandbox. With the resource version as a precondition, the API server refuses the deletion if a claim has
 * adopted the Sandbox meanwhile.
 */
async function deleteSandbox(
  client: KubeClient,
  path: string,
  preconditions: { readonly uid: string; readonly resourceVersion: string },
): Promise<void> {
  const body = { apiVersion: 'v1', kind: 'DeleteOptions', preconditions }
  try {
    await client.call({ method: 'DELETE', path, body })
  } catch (error) {
    if (!hasCode(error, 'not_found') && !hasCode(error, 'conflict')) throw error
  }
}
