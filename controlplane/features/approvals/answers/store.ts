import type { Query } from '../../../db/query.ts'
import { APPROVAL_COLUMNS, type ApprovalRow, type StoredAnswer } from '../rows.ts'
import { ENDED_COLUMNS } from '../store.ts'
import { ANSWER_COUNTS } from './counting-store.ts'

export type EndedApproval = ApprovalRow & { readonly responseS: number }

export type ApprovalEnd = {
  readonly id: string
  readonly status: 'approved' | 'denied' | 'cancelled'
  readonly by: string
  readonly via: string
  readonly note: string | null
}

/** Ends a pending approval. Returns undefined when the approval has ended or is overdue. */
export async function endApproval(q: Query, end: ApprovalEnd): Promise<EndedApproval | undefined> {
  const { rows } = await q.query<EndedApproval>(
    `update approvals set status = $2, responded_at = clock_timestamp(), responded_by = $3, via = $4, note = $5
     where id = $1 and status = 'pending' and expires_at > clock_timestamp() returning ${ENDED_COLUMNS}, ${RESPONSE_S}`,
    [end.id, end.status, end.by, end.via, end.note],
  )
  return rows[0]
}

/**
 * Adds one answer to a pending approval, which stays pending. Returns undefined when the approval has ended or is
 * overdue.
 */
export async function addAnswer(
  q: Query,
  id: string,
  answer: Omit<StoredAnswer, 'at'>,
): Promise<EndedApproval | undefined> {
  const { rows } = await q.query<EndedApproval>(
    `update approvals set answers = answers || jsonb_build_array($2::jsonb || jsonb_build_object('at', ${NOW}))
     where id = $1 and status = 'pending' and expires_at > clock_timestamp() returning ${APPROVAL_COLUMNS}, ${RESPONSE_S}`,
    [id, JSON.stringify(answer)],
  )
  return rows[0]
}

/**
 * Removes the answers of users who no longer have the right to answer. These users are suspended, without access by
 * decision of the identity provider, without a role in the agent's namespace, outside the groups of the answer, or
 * listed in `voidUsers` (ids). The audit events of the answers remain.
 */
export async function dropVoidAnswers(
  q: Query,
  row: ApprovalRow,
  voidUsers: readonly string[],
): Promise<ApprovalRow> {
  if (row.answers.length === 0) return row
  const { rows } = await q.query<ApprovalRow>(
    `update approvals set answers = (
       select coalesce(jsonb_agg(answer order by place), '[]')
       from jsonb_array_elements(answers) with ordinality as given(answer, place)
         left join users u on u.id = answer->>'user_id' left join user_identities i on i.user_id = u.id
       where coalesce(answer->>'user_id', '') <> all($2::text[])
         and (u.id is null or ${ANSWER_COUNTS}))
     where id = $1 and status = 'pending' returning ${APPROVAL_COLUMNS}`,
    [row.id, voidUsers],
  )
  return rows[0] ?? row
}

/**
 * Reports whether an approved hold can still be used: no request has used the hold, and fewer than `windowS` seconds
 * have passed since the approval.
 */
export async function isUnused(q: Query, id: string, windowS: number): Promise<boolean> {
  const { rowCount } = await q.query(
    `select from approvals where id = $1 and status = 'approved' and spent_at is null
       and responded_at > clock_timestamp() - make_interval(secs => $2)`,
    [id, windowS],
  )
  return rowCount > 0
}

const NOW = `to_char(clock_timestamp() at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`
const RESPONSE_S =
  'extract(epoch from coalesce(responded_at, clock_timestamp()) - created_at)::float8 as "responseS"'
