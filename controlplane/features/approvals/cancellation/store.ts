import type { Query } from '../../../db/query.ts'
import { SYNC_CHANNEL } from '../../../db/sync-channel.ts'
import { excludeOpening } from '../opening-lock-store.ts'
import type { ApprovalRow } from '../rows.ts'

/** An approval that an approver can still answer, or that an agent can still use. */
export type UsableApproval = Pick<
  ApprovalRow,
  'id' | 'kind' | 'status' | 'agent' | 'agentId' | 'actId' | 'card'
> & {
  /** Full name of the gateway that holds the request, `namespace/name`; null for the kind `action`. */
  readonly gateway: string | null
  /** Full name of the claim that owns the Sandbox of the held request at present; null when no claim owns it. */
  readonly claim: string | null
}

/**
 * Returns the pending approvals, and the approvals that were approved within the last `windowS` seconds and are not
 * used yet. Locks these rows until the transaction ends.
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
       (select p.namespace || '/' || (p.claim->>'name') from pod_identities p
         where p.pod_uid = approvals.card->'instance'->>'pod_uid') as claim,
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

/**
 * Cancels the approvals, answered or not. PostgreSQL notifies the replicas at commit, and each replica notifies its
 * gateways.
 */
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
  // One message is sufficient, because each replica that receives it reads all ended holds from the database.
  if (first !== undefined) await q.query('select pg_notify($1, $2)', [SYNC_CHANNEL, first.id])
}
