import { ANNOTATIONS, CONTAINERS } from '../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../core/errors.ts'
import type { KubeClient } from '../kube/client.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import { sleep } from '../kube/sleep.ts'
import type { TaskContext } from './task.ts'

/** The Gateway that the chart makes for this test alone. */
export const TEST_GATEWAY = 'chaperone-self-test'
/** The Gateway is new: the operator has yet to hear of it, and right after an installation it has yet to start. */
const PATIENCE_MS = 90_000
const LOOK_AGAIN_MS = 1_000

type StoredPod = { readonly spec: { readonly initContainers?: ReadonlyArray<{ readonly name: string }> } }

/** Asks the cluster, without making anything, for a pod that is governed and for one that must be refused. */
export async function proveInjection(context: TaskContext): Promise<void> {
  const { say } = context
  const pod = await eventuallyGoverned(context)
  const ours = pod.spec.initContainers?.map(({ name }) => name).slice(0, 2) ?? []
  const wanted = [CONTAINERS.rules, CONTAINERS.proxy]
  if (ours.join() !== wanted.join())
    throw new Error(
      `an annotated pod starts with ${ours.join(', ') || 'none of ours'}, not ${wanted.join(', ')}`,
    )
  say(`an annotated pod gets ${ours.join(' and ')}`)
  const refusal = await refusalOf(context)
  if (!refusal.includes('hostNetwork')) throw new Error(`refused without naming the field: ${refusal}`)
  say(`a pod that could go around is refused: ${refusal}`)
}

async function eventuallyGoverned({
  client,
  namespace,
  agentNamespace,
  signal,
}: TaskContext): Promise<StoredPod> {
  const until = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      const pod = await dryRun(client, agentNamespace, testPod(namespace, {}))
      if (isGoverned(pod) || performance.now() > until) return pod
    } catch (error) {
      if (!(error instanceof ChaperoneError) || performance.now() > until || signal.aborted) throw error
    }
    await sleep(LOOK_AGAIN_MS, signal)
  }
}

function isGoverned({ spec }: StoredPod): boolean {
  return spec.initContainers?.some(({ name }) => name === CONTAINERS.proxy) === true
}

async function refusalOf({ client, namespace, agentNamespace }: TaskContext): Promise<string> {
  try {
    await dryRun(client, agentNamespace, testPod(namespace, { hostNetwork: true }))
  } catch (error) {
    if (error instanceof Error) return error.message
    throw error
  }
  throw new Error('a pod with hostNetwork was not refused: is the webhook reachable from the API server?')
}

function dryRun(client: KubeClient, namespace: string, body: object): Promise<StoredPod> {
  const path = pathOf(RESOURCES.Pod, namespace)
  return client.call<StoredPod>({ method: 'POST', path, query: { dryRun: 'All' }, body })
}

function testPod(gatewayNamespace: string, spec: object): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: {
      name: 'chaperone-self-test',
      annotations: {
        [ANNOTATIONS.gateway]: `${gatewayNamespace}/${TEST_GATEWAY}`,
        [ANNOTATIONS.agent]: 'self-test',
      },
    },
    spec: { containers: [{ name: 'agent', image: 'chaperone.invalid/none' }], ...spec },
  }
}
