import type { ScopedQuery } from '../../db/scoped-query.ts'
import { AUDIT_COLUMNS, type AuditExportRow, type AuditFilter, REQUESTED } from './export/store.ts'
import { auditConditions } from './filter-store.ts'

export type AuditSearch = {
  readonly events: readonly AuditExportRow[]
  /**
   * Id before which the next page begins; null at the end of the log. A search that stops at its maximum
   * number of read events also returns an id, even if the page has fewer events than `limit`.
   */
  readonly next: number | null
}

/**
 * Maximum number of events that a page of a search reads. The maximum bounds the time of a page (about 50 ms on two
 * cores) when few events, or none, contain the text.
 */
const MAX_SEARCHED = 20_000

/**
 * Returns at most `limit` events with ids below `before`, newest first. When `before` is null, begins with the newest
 * event.
 */
export async function searchAudit(
  q: ScopedQuery,
  orgId: string,
  {
    filter,
    before,
    limit,
    maxSearched = MAX_SEARCHED,
  }: {
    readonly filter: AuditFilter
    readonly before: number | null
    readonly limit: number
    readonly maxSearched?: number
  },
): Promise<AuditSearch> {
  const { indexed, searched, values } = auditConditions(orgId, filter, before)
  const isSearch = searched.length > 0
  // Reads one row more than requested. The extra row shows that a next page exists.
  const given = [...values, limit + 1, ...(isSearch ? [maxSearched] : [])]
  const limitPlace = `$${values.length + 1}`
  const maxPlace = `$${values.length + 2}::bigint`
  const rows = await q.rows<FoundRow>(given, (within) => {
    const events = `from audit_events e where ${[...indexed, within.namespace('e.namespace')].join(' and ')}`
    // The limit of a search is in the inner query, because PostgreSQL plans the input of a window function for all
    // rows. The value of this limit comes from a subquery, so that the planner does not know the value. With a known
    // limit, the planner sorts all rows when it expects fewer rows than the limit.
    const read = isSearch
      ? `select e.*, (${searched.join(' and ')}) is true as "isFound", row_number() over (order by e.id desc) = ${maxPlace} as "isEnd"
           from (select e.* ${events} order by e.id desc limit (select ${maxPlace})) e order by e.id desc`
      : `select e.*, true as "isFound", false as "isEnd" ${events} order by e.id desc limit ${limitPlace}`
    return `select ${AUDIT_COLUMNS}, e."isFound", e."isEnd"
      from (select * from (${read}) as read where "isFound" or "isEnd" order by id desc limit ${limitPlace}) e
      ${REQUESTED} order by e.id desc`
  })
  return pageOf(rows, limit)
}

/** `isEnd` marks the last event that the search read. */
type FoundRow = AuditExportRow & { readonly isFound: boolean; readonly isEnd: boolean }

function pageOf(rows: readonly FoundRow[], limit: number): AuditSearch {
  const events: AuditExportRow[] = []
  for (const { isFound, isEnd, ...event } of rows) {
    if (events.length === limit) return { events, next: events.at(-1)?.id ?? null }
    if (isFound) events.push(event)
    if (isEnd) return { events, next: event.id }
  }
  return { events, next: null }
}
