import type { Query } from '../../db/query.ts'
import { keyOf, ownClause } from './totals-store.ts'

export type AuditRow = {
  readonly id: number
  readonly eventType: string
  readonly orgId: string
  readonly agentId: string | null
  readonly userId: string | null
  readonly actionRequestId: string | null
  readonly details: Record<string, unknown>
  readonly createdAt: Date
}

/** Selects the events to read: all events, those of an agent, or those of a namespace. */
export type AuditScope = { readonly orgId: string } & (
  | { readonly of: 'all' }
  | { readonly of: 'agent' | 'namespace'; readonly key: string }
)

/**
 * Returns a page of events, newest first. The subquery skips `offset` events by an index-only scan, so that the query
 * reads only the table rows of the page.
 */
export async function listAuditEvents(
  q: Query,
  scope: AuditScope,
  page: { readonly limit: number; readonly offset: number },
): Promise<readonly AuditRow[]> {
  const own = ownClause(scope)
  const { rows } = await q.query<AuditRow>(
    `select id, event_type as "eventType", org_id as "orgId", agent_id as "agentId", user_id as "userId",
       action_request_id as "actionRequestId", details, created_at as "createdAt"
     from audit_events where org_id = $1 ${own}
       and id <= (select id from audit_events where org_id = $1 ${own} order by id desc offset $3 limit 1)
     order by id desc limit $4`,
    [scope.orgId, keyOf(scope), page.offset, page.limit],
  )
  return rows
}
