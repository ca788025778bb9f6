import type { ApprovalStatus } from '../../../../core/wire/gateway/internal.ts'
import type { Query } from '../../../db/query.ts'

export type AnsweredHold = {
  readonly id: string
  readonly gatewayId: string
  readonly agent: string | null
  readonly status: ApprovalStatus
  readonly respondedBy: string | null
  readonly via: string | null
  readonly note: string | null
  readonly at: Date
}

/** Returns the holds that ended within the last `withinS` seconds, of one gateway or of all gateways. */
export async function listAnsweredHolds(
  q: Query,
  { withinS, gatewayId }: { readonly withinS: number; readonly gatewayId?: string },
): Promise<readonly AnsweredHold[]> {
  const { rows } = await q.query<AnsweredHold>(
    `select id, gateway_id as "gatewayId", agent, status, responded_by as "respondedBy", via, note, responded_at as at
     from approvals where kind = 'hold' and status <> 'pending' and gateway_id is not null
       and responded_at > clock_timestamp() - make_interval(secs => $1) and ($2::text is null or gateway_id = $2)
     order by responded_at`,
    [withinS, gatewayId ?? null],
  )
  return rows
}
