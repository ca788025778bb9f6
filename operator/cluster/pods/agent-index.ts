import type { GovernedPod } from './governed-pods.ts'

/** Running pods of one agent: Gateway -> key of the pod -> pod. */
type PodsByGateway = Map<string, Map<string, GovernedPod>>

/** Index of the running pods by agent. */
export type AgentIndex = {
  /**
   * Replaces the state `before` of a pod by the state `now`. Returns the Gateways for which the text about a
   * shared agent changed. A shared agent runs under several Gateways.
   */
  replace(key: string, before: GovernedPod | undefined, now: GovernedPod | undefined): readonly string[]
  gatewaysOf(agent: string): ReadonlyMap<string, ReadonlyMap<string, GovernedPod>>
  /** Returns a text for each agent of the Gateway that also runs under other Gateways. */
  sharedBy(gateway: string): readonly string[]
}

export function createAgentIndex(): AgentIndex {
  const byAgent = new Map<string, PodsByGateway>()
  /** Texts about shared agents, by Gateway and agent. */
  const texts = new Map<string, Map<string, string>>()

  function remove(key: string, { agent, gateway }: GovernedPod): void {
    const gateways = byAgent.get(agent ?? '')
    const known = gateways?.get(gateway ?? '')
    known?.delete(key)
    if (known?.size === 0) gateways?.delete(gateway ?? '')
    if (gateways?.size === 0) byAgent.delete(agent ?? '')
  }

  function add(key: string, pod: GovernedPod): void {
    const { agent, gateway } = pod
    if (agent === null || gateway === null || pod.isOver || pod.isDeleting) return
    const gateways: PodsByGateway = byAgent.get(agent) ?? new Map()
    const known = gateways.get(gateway) ?? new Map<string, GovernedPod>()
    byAgent.set(agent, gateways.set(gateway, known.set(key, pod)))
  }

  /** Stores the text about an agent, or removes it when `text` is null. Returns true when the stored text changed. */
  function putText(gateway: string, agent: string, text: string | null): boolean {
    const known = texts.get(gateway) ?? new Map<string, string>()
    if ((known.get(agent) ?? null) === text) return false
    if (text === null) known.delete(agent)
    else known.set(agent, text)
    if (known.size === 0) texts.delete(gateway)
    else texts.set(gateway, known)
    return true
  }

  function describe(agent: string, before: readonly string[]): readonly string[] {
    const gateways = byAgent.get(agent) ?? new Map()
    return [...new Set([...before, ...gateways.keys()])].filter((gateway) =>
      putText(gateway, agent, sharedText(agent, gateway, gateways)),
    )
  }

  return {
    replace(key, before, now) {
      const concerned = [...new Set([before?.agent, now?.agent])].filter((agent) => agent != null)
      const gateways = concerned.map((agent) => [agent, [...(byAgent.get(agent)?.keys() ?? [])]] as const)
      if (before !== undefined) remove(key, before)
      if (now !== undefined) add(key, now)
      return gateways.flatMap(([agent, former]) => describe(agent, former))
    },
    gatewaysOf: (agent) => byAgent.get(agent) ?? new Map(),
    sharedBy: (gateway) => [...(texts.get(gateway)?.values() ?? [])],
  }
}

/**
 * Returns a text that names the other Gateways of the agent, each with one pod; null unless the agent runs
 * under this Gateway and another Gateway.
 */
function sharedText(agent: string, gateway: string, gateways: PodsByGateway): string | null {
  if (!gateways.has(gateway) || gateways.size < 2) return null
  const others = [...gateways].filter(([name]) => name !== gateway)
  return `${agent}, also of ${others.map(([name, pods]) => `${name} (pod ${pods.keys().next().value})`).join(', ')}`
}
