import type { Query } from '../../db/query.ts'

/** Returns the agent that owns each action, from the first event of the action; null for an event without an agent. */
export async function findActionOwners(
  q: Query,
  actionIds: readonly string[],
): Promise<ReadonlyMap<string, string | null>> {
  const { rows } = await q.query<{ id: string; agentId: string | null }>(
    `select distinct on (action_request_id) action_request_id as id, agent_id as "agentId" from audit_events
     where action_request_id = any($1::text[]) order by action_request_id, audit_events.id`,
    [actionIds],
  )
  return new Map(rows.map(({ id, agentId }) => [id, agentId]))
}
