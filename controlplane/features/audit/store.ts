import type { AuditEventType } from '../../../core/wire/audit.ts'
import type { Query } from '../../db/query.ts'

export type AuditEventInput = {
  readonly orgId: string
  readonly eventType: AuditEventType
  readonly agentId: string | null
  readonly userId: string | null
  readonly actionRequestId?: string | null
  /** Namespace of an event that has no agent. For an event with an agent, the namespace of the agent applies. */
  readonly namespace: string | null
  readonly details: Readonly<Record<string, unknown>>
}

/** Inserts events in one statement, in the given order, and returns their ids. */
export async function insertAuditEvents(
  q: Query,
  events: readonly AuditEventInput[],
): Promise<readonly number[]> {
  const { rows } = await q.query<{ id: number }>(
    insertionOf('jsonb_array_elements($1::jsonb) with ordinality as list(e, position)', 'position'),
    [JSON.stringify(events)],
  )
  return rows.map((row) => row.id)
}

/**
 * Returns the SQL statement that inserts audit events. No other statement inserts them. A store that inserts
 * rows and their events together uses this statement in its `with` clause. `from`: relation whose column `e`
 * is an `AuditEventInput` as `jsonb`. `order`: columns of the relation that define the order of the events.
 */
export function insertionOf(from: string, order: string): string {
  return `insert into audit_events (event_type, org_id, agent_id, user_id, action_request_id, details, namespace)
    select e->>'eventType', e->>'orgId', e->>'agentId', e->>'userId', e->>'actionRequestId', e->'details',
      case when e->>'agentId' is null then e->>'namespace'
        else (select split_part(name, '/', 1) from agents where id = e->>'agentId' and name like '_%/%') end
    from ${from} order by ${order}
    returning id`
}
