import type { LogDecision, Outcome } from '../../../core/decision/vocabulary.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

export type ActionCounts = {
  /** Number of actions since the control plane was installed. The number never decreases. */
  readonly total: number
  readonly lastHour: number
  readonly decisions24h: Readonly<Record<Outcome, number>>
}

/** Counts the requests that agents submitted to the v1 API or sent through gateways. Each request counts once. */
export async function countActions(q: Query, orgId: string): Promise<ActionCounts> {
  const { rows } = await q.query<{ total: number; last_hour: number }>(
    `select (select count(*) from action_requests where org_id = $1)
         + (select coalesce(sum(requests), 0)::bigint from traffic where org_id = $1) + traffic_purged + actions_purged as total,
       (select count(*) from action_requests where org_id = $1 and created_at > now() - interval '1 hour')
         + (select coalesce(sum(requests), 0)::bigint from traffic where org_id = $1 and time > now() - interval '1 hour') as last_hour
     from maintenance`,
    [orgId],
  )
  const { total, last_hour: lastHour } = onlyRow(rows)
  return { total, lastHour, decisions24h: await countDecisions(q, orgId) }
}

const OUTCOME_OF: Readonly<Record<LogDecision, Outcome>> = {
  ALLOW: 'allow',
  HOLD: 'requires_approval',
  DENY: 'deny',
}

async function countDecisions(q: Query, orgId: string): Promise<Readonly<Record<Outcome, number>>> {
  const { rows } = await q.query<{ outcome: string; count: number }>(
    `select decision->>'outcome' as outcome, count(*) as count from action_requests
       where org_id = $1 and created_at > now() - interval '24 hours' group by 1
     union all
     select decision, sum(requests)::bigint from traffic where org_id = $1 and time > now() - interval '24 hours' group by 1`,
    [orgId],
  )
  const counts = { allow: 0, deny: 0, requires_approval: 0 }
  for (const { outcome, count } of rows) {
    const name = outcome in OUTCOME_OF ? OUTCOME_OF[outcome as LogDecision] : outcome
    if (name in counts) counts[name as Outcome] += count
  }
  return counts
}
