import type { Query } from '../../db/query.ts'

/** Stores the current time as the last use of an approver key, at most once a minute. */
export async function touchApproverKey(q: Query, id: string): Promise<void> {
  await q.query(
    `update approver_keys set last_used_at = now()
     where id = $1 and (last_used_at is null or last_used_at < now() - interval '1 minute')`,
    [id],
  )
}
