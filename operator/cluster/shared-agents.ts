import { keyOf } from '../kube/objects.ts'
import type { GovernedPod } from './governed-pods.ts'

/** A pod that is being admitted. */
export type AdmittedPod = {
  /** `namespace/name` of the agent. */
  readonly agent: string
  /** `namespace/name` of the Gateway. */
  readonly gateway: string
  /** The result of `workloadOf`; null for a pod without a controller. */
  readonly workload: string | null
}

/**
 * Finds a pod of another workload that runs as the same agent under another Gateway. An agent belongs to one Gateway,
 * whose rules, budgets and kill switches apply to it. A workload may change its Gateway, because its old pods end.
 */
export function agentElsewhere(pods: readonly GovernedPod[], admitted: AdmittedPod): GovernedPod | undefined {
  return pods.find(
    (pod) =>
      runs(pod) &&
      pod.agent === admitted.agent &&
      pod.gateway !== admitted.gateway &&
      (pod.workload === null || pod.workload !== admitted.workload),
  )
}

/** Returns by Gateway (`namespace/name`) a text for each of its agents that also runs under other Gateways. */
export function sharedAgents(pods: readonly GovernedPod[]): ReadonlyMap<string, readonly string[]> {
  const texts = new Map<string, string[]>()
  for (const [agent, gateways] of gatewaysOfAgents(pods)) {
    if (gateways.size < 2) continue
    for (const gateway of gateways.keys()) {
      const others = [...gateways]
        .filter(([name]) => name !== gateway)
        .map(([name, pod]) => `${name} (pod ${pod})`)
      texts.set(gateway, [...(texts.get(gateway) ?? []), `${agent}, also of ${others.join(', ')}`])
    }
  }
  return texts
}

/** Returns for each agent its Gateways, each with the name of one pod. */
function gatewaysOfAgents(pods: readonly GovernedPod[]): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const agents = new Map<string, Map<string, string>>()
  for (const pod of pods) {
    if (!runs(pod) || pod.agent === null || pod.gateway === null) continue
    const gateways = agents.get(pod.agent) ?? new Map<string, string>()
    agents.set(pod.agent, gateways.set(pod.gateway, keyOf(pod)))
  }
  return agents
}

function runs({ isOver, isDeleting }: GovernedPod): boolean {
  return !isOver && !isDeleting
}
