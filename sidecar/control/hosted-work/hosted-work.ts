import type { StartedWork } from '../../../core/connectors/hosted-work/started-work.ts'
import type { AgentEntry } from '../../../core/wire/gateway/sync.ts'
import type { HostedWorkPort } from '../../pipeline/ports.ts'

/** Work that an agent started at a provider through this process. Work that is known to have ended is not included. */
export type KnownWork = {
  readonly key: string
  readonly agent: AgentEntry
  readonly connector: { readonly id: string; readonly type: string; readonly name: string }
  readonly work: StartedWork
}

/**
 * In-memory registry of work in progress at providers, with the raw ids that a cancelling request needs. A new
 * process starts with an empty registry.
 */
export type HostedWork = HostedWorkPort & {
  /** Returns the work of each agent, oldest first. */
  all(): Iterable<KnownWork>
  readonly size: number
  remove(key: string): void
  /**
   * Number of times that the registry discarded work because it had reached a limit. No kill switch cancels discarded
   * work.
   */
  readonly dropped: number
  /** Number of times that work started, or may have started, without a known id. No kill switch cancels such work. */
  readonly unidentifiedCount: number
}

export type HostedWorkLimits = { readonly ofAgent: number; readonly all: number }

const LIMITS: HostedWorkLimits = { ofAgent: 1_000, all: 20_000 }

export function createHostedWork(limits: HostedWorkLimits = LIMITS): HostedWork {
  const byAgent = new Map<string, Map<string, KnownWork>>()
  const agentOf = new Map<string, string>()
  let dropped = 0
  let unidentifiedCount = 0

  function remove(key: string): void {
    const agentId = agentOf.get(key)
    if (agentId === undefined) return
    agentOf.delete(key)
    const own = byAgent.get(agentId)
    own?.delete(key)
    if (own?.size === 0) byAgent.delete(agentId)
  }

  function dropOldestOf(own: ReadonlyMap<string, KnownWork> | undefined): void {
    for (const key of own?.keys() ?? []) {
      remove(key)
      dropped += 1
      return
    }
  }

  return {
    started({ entry, connector: { name: type } }, agent, work) {
      const key = keyOf(entry, agent, { kind: work.kind.kind, id: work.ids['id'] ?? '' })
      remove(key)
      const own = byAgent.get(agent.id)
      if (own !== undefined && own.size >= limits.ofAgent) dropOldestOf(own)
      else if (agentOf.size >= limits.all) dropOldestOf(largest(byAgent))
      const known = byAgent.get(agent.id) ?? new Map<string, KnownWork>()
      byAgent.set(agent.id, known)
      agentOf.set(key, agent.id)
      known.set(key, { key, agent, connector: { id: entry.id, type, name: entry.name }, work })
    },
    ended({ entry }, agent, { kind, ids }) {
      for (const id of ids) remove(keyOf(entry, agent, { kind, id }))
    },
    unidentified() {
      unidentifiedCount += 1
    },
    *all() {
      for (const own of byAgent.values()) yield* own.values()
    },
    get size() {
      return agentOf.size
    },
    remove,
    get dropped() {
      return dropped
    },
    get unidentifiedCount() {
      return unidentifiedCount
    },
  }
}

/** Returns the key of the work. It contains the agent, so that no agent ends or takes over the work of another one. */
function keyOf(
  connector: { readonly id: string },
  agent: AgentEntry,
  { kind, id }: { readonly kind: string; readonly id: string },
): string {
  return `${connector.id}\n${agent.id}\n${kind}\n${id}`
}

function largest<T>(maps: ReadonlyMap<string, ReadonlyMap<string, T>>): ReadonlyMap<string, T> | undefined {
  let most: ReadonlyMap<string, T> | undefined
  for (const map of maps.values()) if (map.size > (most?.size ?? 0)) most = map
  return most
}
