import type { PermissionRow } from '../../features/permissions/rows.ts'
import { inSteps, type Steps } from './steps.ts'

/** Permissions that can apply to one agent. */
export type AgentPermissions = {
  /** Permissions for all agents, or for a prefix of agent names. Sidecars with an equal `key` have equal rows. */
  readonly shared: { readonly key: string; readonly rows: readonly PermissionRow[] }
  /** Permissions that name exactly this agent. */
  readonly own: readonly PermissionRow[]
}

/**
 * Permissions of one gateway, by agent. The running time of `of` depends on the length of the agent's name, not on the
 * number of all rows.
 */
export type PermissionIndex = { of(agent: string): AgentPermissions }

export function* createPermissionIndex(rows: readonly PermissionRow[]): Steps<PermissionIndex> {
  const byAgent = new Map<string, PermissionRow[]>()
  yield* inSteps(rows, (some) => {
    for (const row of some) {
      const known = byAgent.get(row.agent)
      if (known === undefined) byAgent.set(row.agent, [row])
      else known.push(row)
    }
  })
  const shared = new Map<string, AgentPermissions['shared']>()
  return {
    of(agent) {
      const prefixes = Array.from({ length: agent.length + 1 }, (_, length) => `${agent.slice(0, length)}*`)
      const covering = prefixes.filter((prefix) => byAgent.has(prefix))
      const key = JSON.stringify(covering)
      const known = shared.get(key) ?? { key, rows: covering.flatMap((prefix) => byAgent.get(prefix) ?? []) }
      shared.set(key, known)
      return { shared: known, own: byAgent.get(agent) ?? [] }
    },
  }
}
