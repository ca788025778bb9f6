import type { Query } from '../../db/query.ts'
import type { ApprovalRow } from './store.ts'
import { notifyAnswer } from './store.ts'

const LOCK = "hashtextextended('approvals and stops', 0)"

/**
 * Takes a shared lock until the transaction ends. Transactions that open or join an approval take it before they read
 * the kill switches: a concurrent kill switch is either read here, or finds the approval and cancels it.
 */
export async function shareKillLock(q: Query): Promise<void> {
  await q.query(`select pg_advisory_xact_lock_shared(${LOCK})`, [])
}

/** Waits for transactions that open approvals, with the exclusive lock. Later transactions read the kill switch. */
async function excludeOpening(q: Query): Promise<void> {
  await q.query(`select pg_advisory_xact_lock(${LOCK})`, [])
}

/** An approval that can still be answered or used. */
export type UsableApproval = Pick<
  ApprovalRow,
  'id' | 'kind' | 'status' | 'agent' | 'agentId' | 'actId' | 'card'
> & {
  /** Gateway of the hold, `namespace/name`; null for the kind `action`. */
  readonly gateway: string | null
}

/**
 * Returns pending approvals, and approved ones that are unused within `windowS` seconds. Locks them until the
 * transaction ends.
 */
export async function lockUsableApprovals(
  q: Query,
  orgId: string,
  windowS: number,
): Promise<readonly UsableApproval[]> {
  await excludeOpening(q)
  const { rows } = await q.query<UsableApproval>(
    `select id, kind, status, agent, act_id as "actId", card,
       (select name from gateways g where g.id = approvals.gateway_id) as gateway,
       (select a.id from agents a where a.org_id = approvals.org_id and a.name = approvals.agent
         and a.status <> 'revoked') as "agentId"
     from approvals where org_id = $1 and spent_at is null
       and (status = 'pending' and expires_at > clock_timestamp()
         or status = 'approved' and responded_at > clock_timestamp() - make_interval(secs => $2))
     order by id for update`,
    [orgId, windowS],
  )
  return rows
}

/** Cancels the approvals, answered or not. Notifies the gateways through their replicas at commit. */
export async function cancelApprovals(
  q: Query,
  ids: readonly string[],
  end: { readonly by: string; readonly via: string; readonly note: string },
): Promise<void> {
  const { rows } = await q.query<{ id: string }>(
    `update approvals set status = 'cancelled', responded_at = clock_timestamp(), responded_by = $2, via = $3, note = $4
     where id = any($1::text[]) returning id`,
    [ids, end.by, end.via, end.note],
  )
  const [first] = rows
  // One message suffices: receivers read all answers from the database.
  if (first !== undefined) await notifyAnswer(q, first)
}
