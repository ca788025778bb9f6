import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

export type OwnerTokenUses = {
  readonly count: number
  readonly last: { readonly createdAt: Date; readonly details: Readonly<Record<string, unknown>> } | null
}

/** Returns the number of uses of the owner's token in the last 24 hours, and the last use. */
export async function ownerTokenUses(q: Query, orgId: string): Promise<OwnerTokenUses> {
  type Row = { readonly count: number; readonly createdAt: Date | null; readonly details: object | null }
  const { rows } = await q.query<Row>(
    `with uses as (
       select created_at, details from audit_events
       where event_type = 'owner_token.used' and org_id = $1 and created_at > now() - interval '24 hours'
     )
     select count(*)::int as count, max(created_at) as "createdAt",
       (select details from uses order by created_at desc limit 1) as details
     from uses`,
    [orgId],
  )
  const { count, createdAt, details } = onlyRow(rows)
  return { count, last: createdAt === null ? null : { createdAt, details: { ...details } } }
}
