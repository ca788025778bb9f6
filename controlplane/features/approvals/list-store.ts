import type { ApprovalStatus } from '../../../core/wire/gateway/internal.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { APPROVAL_COLUMNS, type ApprovalKind, type ApprovalRow, IS_ABANDONED } from './rows.ts'

export type ApprovalFilter = {
  readonly status?: ApprovalStatus | undefined
  readonly kind?: ApprovalKind | undefined
  readonly gatewayId?: string | undefined
  readonly limit: number
  readonly offset?: number | undefined
}

/**
 * Maximum number of characters of all cards in one response. The limit bounds the memory of the browser, because one
 * card may have a size of a megabyte.
 */
const MAX_PAGE = 8 * 1024 * 1024

/**
 * SQL expression for the shown status. An overdue approval is shown as expired, even before the sweeper stores the
 * expiry.
 */
const SHOWN_STATUS = `case when status = 'pending' and expires_at <= clock_timestamp() then 'expired' else status end`

/**
 * Returns approvals, newest first, and the total number of matches. Pending approvals that are abandoned, because their
 * clients have disconnected, are only in the unfiltered list. Returns fewer than `limit` rows when cards are large, but
 * at least one.
 */
export async function listApprovals(
  q: ScopedQuery,
  orgId: string,
  filter: ApprovalFilter,
): Promise<{ readonly rows: readonly ApprovalRow[]; readonly total: number }> {
  const rows = await q.rows<ApprovalRow & { total: number }>(
    [
      orgId,
      filter.status ?? null,
      filter.kind ?? null,
      filter.gatewayId ?? null,
      filter.limit,
      filter.offset ?? 0,
    ],
    (within) => `with page as (
       select id as of_id, octet_length(card::text) as size, total, row_number() over newest as place
       from (select id, created_at, card, count(*) over ()::int as total from approvals
         where org_id = $1 and ($2::text is null or (${SHOWN_STATUS} = $2 and not ($2 = 'pending' and ${IS_ABANDONED}))) and ($3::text is null or kind = $3)
           and ($4::text is null or gateway_id = $4)
           and ${within.name('agent')}
         order by created_at desc, id desc limit $5 offset $6) as asked
       window newest as (order by created_at desc, id desc)
     ), fitting as (select *, sum(size) over (order by place) as sizes from page)
     select ${APPROVAL_COLUMNS}, total from fitting join approvals on id = of_id
     where place = 1 or sizes <= ${MAX_PAGE} order by place`,
  )
  return { rows, total: rows[0]?.total ?? 0 }
}
