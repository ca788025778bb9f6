import { ANNOTATIONS, CONTAINERS } from '../../core/capture/pod-contract.ts'
import { ChaperoneError } from '../../core/errors.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { KubeClient } from '../kube/client.ts'
import { pathOf, RESOURCES } from '../kube/objects.ts'
import type { TaskContext } from './task.ts'

/** A Gateway that the chart creates for this test. */
const TEST_GATEWAY = 'chaperone-self-test'
/**
 * Time limit of the test in milliseconds. Right after an installation, the operator may not have started, and
 * the Gateway may not be in its cache.
 */
const PATIENCE_MS = 90_000
const POLL_MS = 1_000

type StoredPod = { readonly spec: { readonly initContainers?: ReadonlyArray<{ readonly name: string }> } }

/** Tests by dry runs that an annotated pod is injected and that a pod with hostNetwork is refused. */
export async function testInjection(context: TaskContext): Promise<void> {
  const { print } = context
  const pod = await eventuallyGoverned(context)
  const ours = pod.spec.initContainers?.map(({ name }) => name).slice(0, 2) ?? []
  const wanted = [CONTAINERS.rules, CONTAINERS.proxy]
  if (ours.join() !== wanted.join())
    throw new Error(
      `An annotated pod starts with ${ours.join(', ') || 'no injected container'} instead of ${wanted.join(', ')}. Check that the API server can reach the webhook, and that no other webhook changes the containers.`,
    )
  print(`an annotated pod gets ${ours.join(' and ')}`)
  const refusal = await refusalOf(context)
  if (!refusal.includes('hostNetwork'))
    throw new Error(
      `A pod with hostNetwork was refused for another reason, so the test cannot show that Chaperone refuses such pods. Find the webhook or policy that refused it: ${refusal}`,
    )
  print(`a pod that could bypass the gateway is refused: ${refusal}`)
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
    await sleep(POLL_MS, signal)
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
  throw new Error('A pod with hostNetwork was not refused. Check that the API server can reach the webhook.')
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
