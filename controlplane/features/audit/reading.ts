import { eventId } from '../../../core/ids.ts'
import type { AuditEventView } from '../../../core/wire/v1.ts'
import type { Db } from '../../db/query.ts'
import { type AuditRow, type AuditScope, listAuditEvents } from './reading-store.ts'
import { type AuditCount, countAuditEvents } from './totals-store.ts'

export type AuditPage = {
  readonly events: readonly AuditEventView[]
  readonly total: number
  readonly limit: number
  readonly offset: number
}

/**
 * Selects the events to read: all events, those of an agent (`key` is its id), or those of a namespace (`key` is its
 * name).
 */
export type Whose = { readonly of: 'all' } | { readonly of: 'agent' | 'namespace'; readonly key: string }

export type AuditReading = {
  /** Returns a page of events, newest first. */
  page(whose: Whose, page: { readonly limit: number; readonly offset: number }): Promise<AuditPage>
}

/** Maximum number of cached event counts. Each scope has one count. */
const MAX_REMEMBERED = 1_000

export function createAuditReading({ db, orgId }: { readonly db: Db; readonly orgId: string }): AuditReading {
  const counts = new Map<string, AuditCount>()
  async function total(scope: AuditScope): Promise<number> {
    const key = JSON.stringify(scope)
    const counted = await countAuditEvents(db, scope, counts.get(key) ?? null)
    if (counts.size >= MAX_REMEMBERED) counts.clear()
    counts.set(key, counted.settled)
    return counted.total
  }
  return {
    async page(whose, page) {
      const scope = { orgId, ...whose }
      const [rows, all] = await Promise.all([listAuditEvents(db, scope, page), total(scope)])
      return { events: rows.map(view), total: all, ...page }
    },
  }
}

/**
 * Converts the row of an event to its API object. Omits fields that do not apply to the event (spec 2.7: "when
 * applicable").
 */
function view(row: AuditRow): AuditEventView {
  return {
    id: eventId(row.id),
    event_type: row.eventType,
    org_id: row.orgId,
    ...(row.agentId === null ? {} : { agent_id: row.agentId }),
    ...(row.userId === null ? {} : { user_id: row.userId }),
    ...(row.actionRequestId === null ? {} : { action_request_id: row.actionRequestId }),
    details: row.details,
    created_at: row.createdAt.toISOString(),
  }
}
