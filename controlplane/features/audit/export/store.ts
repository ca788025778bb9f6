import type { ScopedQuery } from '../../../db/scoped-query.ts'
import { SEARCHED } from '../filter-store.ts'

export type AuditFilter = {
  readonly eventType?: string | undefined
  /** Start of the time range (ISO 8601). `from` is inclusive, `to` is exclusive. */
  readonly from?: string | undefined
  readonly to?: string | undefined
  readonly agentId?: string | undefined
  readonly actionRequestId?: string | undefined
  /** Text that occurs anywhere in the type, ids or details of the event; case-insensitive. */
  readonly q?: string | undefined
}

export type AuditExportRow = {
  readonly id: number
  readonly event_type: string
  readonly org_id: string
  readonly agent_id: string | null
  readonly user_id: string | null
  readonly action_request_id: string | null
  readonly created_at: Date
  /** Details of the event as JSON text. */
  readonly details: string
  /**
   * Action type in the details of the event; if the details have none, the action type of the event's action request.
   */
  readonly action_type: string | null
  /**
   * Resource in the details of the event as JSON text; if the details have none, the resource of the event's action
   * request.
   */
  readonly resource: string | null
}

/**
 * Columns of an audit event (alias `e`) and of the event `action.requested` of the same action (alias `requested`).
 */
export const AUDIT_COLUMNS = `e.id, e.event_type, e.org_id, e.agent_id, e.user_id, e.action_request_id, e.created_at,
       e.details::text as details,
       coalesce(e.details->>'action_type', requested.details->>'action_type') as action_type,
       coalesce(e.details->'resource', requested.details->'resource')::text as resource`

/** Joins an event `e` with the event `action.requested` of the same action. */
export const REQUESTED = `left join lateral (
       select r.details from audit_events r
       where r.action_request_id = e.action_request_id and r.event_type = 'action.requested' order by r.id limit 1
     ) requested on e.action_request_id is not null`

/** Returns at most `limit` events with ids above `after`, oldest first. */
export async function listAuditAfter(
  q: ScopedQuery,
  orgId: string,
  page: { readonly filter: AuditFilter; readonly after: number; readonly limit: number },
): Promise<readonly AuditExportRow[]> {
  const { where, values } = conditions(page.filter)
  return q.rows<AuditExportRow>(
    [orgId, page.after, page.limit, ...values],
    (within) => `select ${AUDIT_COLUMNS}
     from audit_events e ${REQUESTED}
     where e.org_id = $1 and ${['e.id > $2', within.namespace('e.namespace'), ...where].join(' and ')}
     order by e.id limit $3`,
  )
}

function conditions(filter: AuditFilter) {
  const where: string[] = []
  const values: unknown[] = []
  const add = (value: unknown, condition: (place: string) => string) => {
    if (value === undefined) return
    values.push(value)
    where.push(condition(`$${values.length + 3}`))
  }
  add(filter.eventType, (p) => `e.event_type = ${p}`)
  add(filter.from, (p) => `e.created_at >= ${p}::timestamptz`)
  add(filter.to, (p) => `e.created_at < ${p}::timestamptz`)
  add(filter.agentId, (p) => `e.agent_id = ${p}`)
  add(filter.actionRequestId, (p) => `e.action_request_id = ${p}`)
  add(filter.q, (p) => `position(lower(${p}) in ${SEARCHED}) > 0`)
  return { where, values }
}
