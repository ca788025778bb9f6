import type { QuotaLeaseBody, QuotaLeaseReply } from '../../../../core/wire/gateway/quota-lease.ts'
import type { Query } from '../../../db/query.ts'
import { onlyRow } from '../../../db/rows.ts'

export type Borrower = { readonly gatewayId: string; readonly processId: string }

/**
 * Leases slots of an agent's request quota to a gateway process. The counts are exact over all processes and replicas,
 * because concurrent calls for one agent are serialised.
 */
export async function leaseSlots(
  q: Query,
  { gatewayId, processId }: Borrower,
  asked: QuotaLeaseBody,
): Promise<QuotaLeaseReply> {
  const { rows } = await q.query<QuotaLeaseReply>(
    'select granted, retry_after_ms from lease_quota($1, $2, $3, $4, $5, $6::float8[])',
    [gatewayId, asked.agent, processId, asked.per_minute, asked.want, asked.used],
  )
  return onlyRow(rows)
}
