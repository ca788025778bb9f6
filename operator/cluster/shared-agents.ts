import { keyOf } from '../kube/objects.ts'
import type { GovernedPod } from './governed-pods.ts'

/** A pod that is about to be: whose agent it says it is, and under which Gateway. */
export type AskingPod = {
  /** `namespace/name`. */
  readonly agent: string
  /** `namespace/name`. */
  readonly gateway: string
  /** As `workloadOf` says it; null for a pod of nobody's. */
  readonly workload: string | null
}

/**
 * An agent is one Gateway's: its rules, its budget and its stops. A pod of another workload that runs under another
 * Gateway and is the same agent by name. A workload that changes its Gateway is let through: its old pods go.
 */
export function agentElsewhere(pods: readonly GovernedPod[], asking: AskingPod): GovernedPod | undefined {
  return pods.find(
    (pod) =>
      runs(pod) &&
      pod.agent === asking.agent &&
      pod.gateway !== asking.gateway &&
      (pod.workload === null || pod.workload !== asking.workload),
  )
}

/** Gateway (`namespace/name`) -> what to say of each of its agents that pods of other Gateways are, too, at this moment. */
export function sharedAgents(pods: readonly GovernedPod[]): ReadonlyMap<string, readonly string[]> {
  const said = new Map<string, string[]>()
  for (const [agent, gateways] of gatewaysOfAgents(pods)) {
    if (gateways.size < 2) continue
    for (const gateway of gateways.keys()) {
      const others = [...gateways]
        .filter(([name]) => name !== gateway)
        .map(([name, pod]) => `${name} (pod ${pod})`)
      said.set(gateway, [...(said.get(gateway) ?? []), `${agent}, also of ${others.join(', ')}`])
    }
  }
  return said
}

/** Agent -> Gateway -> one pod of it. */
function gatewaysOfAgents(pods: readonly GovernedPod[]): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const agents = new Map<string, Map<string, string>>()
  for (const pod of pods) {
    if (!runs(pod) || pod.agent === null || pod.gateway === null) continue
    const gateways = agents.get(pod.agent) ?? new Map<string, string>()
    agents.set(pod.agent, gateways.set(pod.gateway, keyOf(pod)))
  }
  return agents
}

function runs({ isOver, isLeaving }: GovernedPod): boolean {
  return !isOver && !isLeaving
}
