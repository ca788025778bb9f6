import { useMemo } from 'react'
import type { AuditEntry } from '../../../../core/wire/governance.ts'
import { useResource } from '../../live/use-resource.ts'

export type Names = {
  readonly agents: ReadonlyArray<{ readonly value: string; readonly label: string }>
  /** Who an event speaks of: the person, else the agent, else what the details say. */
  readonly who: (event: AuditEntry) => string
}

/** Events carry ids; people read names. An id without a name any more stays an id. */
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
      who: ({ user_id, agent_id, details }) =>
        nameOf(user_id) ??
        nameOf(agent_id) ??
        (typeof details['agent'] === 'string' ? details['agent'] : 'system'),
    }
  }, [agents, users])
}
