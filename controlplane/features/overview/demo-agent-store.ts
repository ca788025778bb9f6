import type { Query } from '../../db/query.ts'

/**
 * Returns the id of the agent with this `managed_by`. Ignores revoked agents. Waits for a concurrent transaction that
 * creates the agent.
 */
export async function findManagedAgent(q: Query, managedBy: string): Promise<string | undefined> {
  await q.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`agent managed by ${managedBy}`])
  const { rows } = await q.query<{ id: string }>(
    "select id from agents where managed_by = $1 and source = 'api' and status <> 'revoked' order by created_at, id limit 1",
    [managedBy],
  )
  return rows[0]?.id
}
