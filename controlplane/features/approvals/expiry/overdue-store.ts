import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'
import type { ApprovalRow } from '../rows.ts'
import { ENDED_COLUMNS } from '../store.ts'

/** Expires overdue approvals, at most 200 per call. Skips rows that another replica has locked. */
export async function expireOverdue(q: Query): Promise<readonly ApprovalRow[]> {
  const { rows } = await q.query<ApprovalRow>(
    `update approvals set status = 'expired', responded_at = clock_timestamp() where id in (
       select id from approvals where status = 'pending' and expires_at <= clock_timestamp()
       order by expires_at limit 200 for update skip locked) returning ${ENDED_COLUMNS}`,
    [],
  )
  return rows
}

/** Returns whether any approval is pending, including approvals that are overdue but not expired yet. */
export async function hasPending(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ found: boolean }>(
    "select exists(select 1 from approvals where status = 'pending') as found",
    [],
  )
  return onlyRow(rows).found
}
