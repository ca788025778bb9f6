import { ChaperoneError } from '../../../../core/errors.ts'
import { eventId } from '../../../../core/ids.ts'
import type { Namespaces } from '../../../../core/wire/access/rights.ts'
import type { AuditEntry, AuditReply, EvidenceReply } from '../../../../core/wire/audit.ts'
import type { ScopedReads } from '../../../db/scoped-query.ts'
import { validationError } from '../../../http/input.ts'
import { approvalCard } from '../../approvals/card.ts'
import { listApprovalsOfAction } from '../../approvals/rows.ts'
import { listTrafficOfAction } from '../../traffic/rows.ts'
import { type AuditExportRow, type AuditFilter, listAuditAfter } from '../export/store.ts'
import { searchAudit } from '../search-store.ts'

export type Evidence = {
  /**
   * Returns a page of events, newest first. `cursor`: the field `next_cursor` of the previous page. A page with a
   * `next_cursor` can have fewer events than `limit`, or none. The next page then continues the search in older
   * events.
   */
  search(
    namespaces: Namespaces,
    filter: AuditFilter,
    page: { readonly limit: number; readonly cursor?: string | undefined },
  ): Promise<AuditReply>
  /** Returns all events, approvals and requests of one action. Throws `not_found`. */
  chain(namespaces: Namespaces, actionRequestId: string): Promise<EvidenceReply>
}

const MAX_EVENTS = 500

export function createEvidence({
  read,
  orgId,
}: {
  readonly read: ScopedReads
  readonly orgId: string
}): Evidence {
  return {
    async search(namespaces, filter, { limit, cursor }) {
      const before = cursor === undefined ? null : numberOf(cursor)
      const { events, next } = await searchAudit(read(namespaces), orgId, { filter, before, limit })
      return { events: events.map(entryOf), next_cursor: next === null ? null : String(next) }
    },
    async chain(namespaces, actionRequestId) {
      const query = read(namespaces)
      const [events, approvals, requests] = await Promise.all([
        listAuditAfter(query, orgId, { filter: { actionRequestId }, after: 0, limit: MAX_EVENTS }),
        listApprovalsOfAction(query, orgId, actionRequestId),
        listTrafficOfAction(query, orgId, actionRequestId),
      ])
      if (events.length + approvals.length + requests.length === 0)
        throw new ChaperoneError('not_found', {
          detail: `There are no audit events for ${actionRequestId}. Check the id; retention may have removed the events.`,
        })
      return {
        action_request_id: actionRequestId,
        events: events.map(entryOf),
        approvals: approvals.map(approvalCard),
        requests: [...requests],
      }
    },
  }
}

function numberOf(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw validationError([
    'cursor: is not a next_cursor of this list; send the next_cursor of the page before, or no cursor for the first page',
  ])
}

function entryOf(row: AuditExportRow): AuditEntry {
  return {
    id: eventId(row.id),
    event_type: row.event_type,
    agent_id: row.agent_id,
    user_id: row.user_id,
    action_request_id: row.action_request_id,
    action_type: row.action_type,
    details: JSON.parse(row.details) as AuditEntry['details'],
    created_at: row.created_at.toISOString(),
  }
}
