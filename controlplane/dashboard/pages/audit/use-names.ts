import { useMemo } from 'react'
import type { AuditEntry } from '../../../../core/wire/audit.ts'
import { useResource } from '../../live/use-resource.ts'

export type Names = {
  readonly agents: ReadonlyArray<{ readonly value: string; readonly label: string }>
  /**
   * Returns the actor of an event: the user if the event has one, otherwise the agent, otherwise the name in the
   * details of the event.
   */
  readonly actorOf: (event: AuditEntry) => string
}

/** Resolves the ids of events to names. The id of a deleted object stays unresolved. */
export function useNames(): Names {
  const agents = useResource('GET /api/dashboard/agents', {}).data?.agents
  const users = useResource('GET /api/dashboard/users', {}).data?.users
  return useMemo(() => {
    const names = new Map<string, string>([
      ...(agents ?? []).map(({ agent_id, name }) => [agent_id, name] as const),
      ...(users ?? []).map(({ id, email }) => [id, email] as const),
    ])
    const nameOf = (id: string | null) => (id === null ? null : (names.get(id) ?? id))
    return {
      agents: (agents ?? []).map(({ agent_id, name, status }) => ({
        value: agent_id,
        label: status === 'revoked' ? `${name} (revoked)` : name,
      })),
      actorOf: ({ user_id, agent_id, details }) =>
        nameOf(user_id) ??
        systemName(details) ??
        nameOf(agent_id) ??
        (typeof details['agent'] === 'string' ? details['agent'] : 'system'),
    }
  }, [agents, users])
}

/** Returns the name of the token or process that acted without a user; null if the event has none. */
function systemName({ actor }: AuditEntry['details']): string | null {
  const { name } = (actor ?? {}) as { readonly name?: unknown }
  return typeof name === 'string' ? name : null
}
