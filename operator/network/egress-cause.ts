import { isIP } from 'node:net'
import type { KubeClient } from '../kube/client.ts'
import { listPages } from '../kube/list-pages.ts'
import type { Namespaces } from '../kube/namespaces.ts'
import { type KubeObject, pathOf, RESOURCES } from '../kube/objects.ts'
import { admitsEgress, type EgressPolicy, type EgressTarget, isolating } from './egress-rules.ts'
import { NETWORK_POLICIES } from './network-policies.ts'
import {
  CONTROL_PLANE_LABELS,
  CONTROL_PLANE_PORT,
  DNS_PORT,
  type LabelledPods,
  type SandboxPolicyOptions,
  serverAddress,
} from './sandbox-policy.ts'

export type EgressCauseDeps = {
  readonly client: Pick<KubeClient, 'call'>
  readonly namespaces: Pick<Namespaces, 'labelsOf'>
} & Pick<SandboxPolicyOptions, 'ownNamespace' | 'dns'>

type RunningPod = KubeObject & { readonly status?: { readonly podIP?: string } }

/**
 * Destination that a sidecar must reach, and the labels by which a NetworkPolicy selects the pods of the destination.
 */
type Needed = EgressTarget & { readonly selection: LabelledPods }

/**
 * Explains why a sidecar may not reach the control plane or DNS: the NetworkPolicies that select its pod, and the rule
 * that they lack, as YAML. Resolves with null when no NetworkPolicy prevents it. Rejects with `not_found` when the pod
 * does not exist.
 */
export async function egressCause(
  deps: EgressCauseDeps,
  pod: { readonly namespace: string; readonly name: string },
  signal: AbortSignal,
): Promise<string | null> {
  const { client } = deps
  const { metadata } = await client.call<KubeObject>({
    method: 'GET',
    path: pathOf(RESOURCES.Pod, pod.namespace, pod.name),
    metadata: 'object',
    signal,
  })
  const stored = await listPages<KubeObject & EgressPolicy>(
    client,
    { path: pathOf(NETWORK_POLICIES, pod.namespace) },
    signal,
  )
  const policies = isolating(stored.items, metadata.labels ?? {})
  if (policies.length === 0) return null
  const missing = (await targetsOf(deps, signal)).filter(
    (target) => !admitsEgress(policies, pod.namespace, target),
  )
  if (missing.length === 0) return null
  const names = policies.map(({ metadata: { name } }) => `${pod.namespace}/${name}`).sort()
  const lacking = missing.map(({ name }) => name).join(' or ')
  return `NetworkPolicy ${someNames(names)} limits the egress of the pod, and admits no connection to ${lacking}. Add to spec.egress:\n${missing.map(ruleText).join('\n')}`
}

/** Returns `cause` as text. For null and for an empty text, returns a sentence that says where to find the cause. */
export function egressCauseText(cause: string | null): string {
  return (
    cause ||
    'no NetworkPolicy explains it; the log of the container chaperone-proxy and kubectl chaperone doctor POD have the reason'
  )
}

/** Maximum number of NetworkPolicies that a text names, so that the text of an Event has space for the missing rule. */
const NAMED = 3

function someNames(names: readonly string[]): string {
  return names.length > NAMED ? `${names.slice(0, NAMED).join(', ')} and others` : names.join(', ')
}

async function targetsOf(
  { client, namespaces, ownNamespace, dns }: EgressCauseDeps,
  signal: AbortSignal,
): Promise<readonly Needed[]> {
  const podsOf = async ({ namespace, labels }: LabelledPods) => {
    const labelSelector = Object.entries(labels)
      .map(([key, value]) => `${key}=${value}`)
      .join(',')
    const { items } = await listPages<RunningPod>(
      client,
      { path: pathOf(RESOURCES.Pod, namespace), labelSelector },
      signal,
    )
    const namespaceLabels = namespaces.labelsOf(namespace) ?? { 'kubernetes.io/metadata.name': namespace }
    // When no pod of the destination runs, the NetworkPolicies are compared with the labels that such a pod has.
    const found = items.length === 0 ? [{ metadata: { labels }, status: undefined }] : items
    return found.map(({ metadata, status }) => ({
      namespace,
      namespaceLabels,
      labels: metadata.labels ?? {},
      address: status?.podIP ?? null,
    }))
  }
  const controlPlane = { namespace: ownNamespace, labels: CONTROL_PLANE_LABELS }
  return [
    {
      name: 'the control plane',
      selection: controlPlane,
      addresses: [],
      ports: [{ protocol: 'TCP', port: CONTROL_PLANE_PORT }],
      pods: await podsOf(controlPlane),
    },
    {
      name: 'DNS',
      selection: dns.pods,
      addresses: dns.resolvers
        .map((server) => serverAddress(server).address)
        .filter((one) => isIP(one) !== 0),
      ports: [
        { protocol: 'UDP', port: DNS_PORT },
        { protocol: 'TCP', port: DNS_PORT },
      ],
      pods: await podsOf(dns.pods),
    },
  ]
}

function ruleText({ selection: { namespace, labels }, ports }: Needed): string {
  const pairs = Object.entries(labels).map(([key, value]) => `${key}: ${value}`)
  return [
    '- to:',
    `  - namespaceSelector: { matchLabels: { kubernetes.io/metadata.name: ${namespace} } }`,
    `    podSelector: { matchLabels: { ${pairs.join(', ')} } }`,
    `  ports: [${ports.map(({ protocol, port }) => `{ protocol: ${protocol}, port: ${port} }`).join(', ')}]`,
  ].join('\n')
}
