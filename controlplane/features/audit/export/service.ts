import { eventId } from '../../../../core/ids.ts'
import type { Namespaces } from '../../../../core/wire/access/rights.ts'
import type { ScopedReads } from '../../../db/scoped-query.ts'
import { csvLine } from './csv.ts'
import { type AuditExportRow, type AuditFilter, listAuditAfter } from './store.ts'

/** Columns of the CSV export: those of spec 4.4, then the remaining fields of the event. */
const COLUMNS = [
  'timestamp',
  'event_type',
  'agent_id',
  'action_type',
  'details',
  'id',
  'org_id',
  'user_id',
  'action_request_id',
  'resource',
] as const

const PAGE = 1_000

export type AuditExport = {
  /**
   * Yields the matching events as CSV, oldest first. Reads the events in pages, so that memory does not grow with their
   * number.
   */
  csv(namespaces: Namespaces, filter: AuditFilter): AsyncGenerator<string>
}

export function createAuditExport({
  read,
  orgId,
}: {
  readonly read: ScopedReads
  readonly orgId: string
}): AuditExport {
  return {
    async *csv(namespaces, filter) {
      const query = read(namespaces)
      let page = await listAuditAfter(query, orgId, { filter, after: 0, limit: PAGE })
      yield csvLine(COLUMNS) + page.map(lineOf).join('')
      for (let last = page.at(-1); last !== undefined && page.length === PAGE; last = page.at(-1)) {
        page = await listAuditAfter(query, orgId, { filter, after: last.id, limit: PAGE })
        yield page.map(lineOf).join('')
      }
    },
  }
}

function lineOf(row: AuditExportRow): string {
  return csvLine([
    row.created_at.toISOString(),
    row.event_type,
    row.agent_id,
    row.action_type,
    row.details,
    eventId(row.id),
    row.org_id,
    row.user_id,
    row.action_request_id,
    row.resource,
  ])
}
