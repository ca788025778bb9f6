import type { ActionSpec } from '../../../core/action/spec.ts'
import type { LogDecision, Outcome } from '../../../core/decision/vocabulary.ts'
import type { ActionRequestState } from '../../../core/state/action-request.ts'
import type { DecisionView } from '../../../core/wire/v1.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'

export type ActionCounts = {
  /** Number of actions since the control plane was installed. The number never decreases. */
  readonly total: number
  readonly lastHour: number
  readonly decisions24h: Readonly<Record<Outcome, number>>
}

/**
 * Counts the requests that agents submitted to the v1 API or sent through gateways. Each request counts once. The
 * requests through gateways come from the roll-ups of the traffic log. Records are read only for the first minute
 * of a period and for the time before the roll-ups begin.
 */
export async function countActions(q: Query, orgId: string): Promise<ActionCounts> {
  const { rows } = await q.query<{ total: number; last_hour: number }>(
    `select (select count(*) from action_requests where org_id = $1) + traffic_purged + actions_purged
         + (select coalesce(sum(requests), 0)::bigint from traffic_rollups where step = 3600 and namespace is null)
         + (select coalesce(sum(requests), 0)::bigint from traffic_increments)
         + (select coalesce(sum(requests), 0)::bigint from traffic
            where org_id = $1 and time < (select begins_at from traffic_rollup_begin)) as total,
       (select count(*) from action_requests where org_id = $1 and created_at > now() - interval '1 hour')
         + (select coalesce(sum(requests), 0)::bigint from (${requestsOf("interval '1 hour'")}) as sums (decision, requests)) as last_hour
     from maintenance`,
    [orgId],
  )
  const { total, last_hour: lastHour } = onlyRow(rows)
  return { total, lastHour, decisions24h: await countDecisions(q, orgId) }
}

/**
 * Returns SQL that selects rows of a decision and a number of requests, from the traffic log of the last
 * `period`. A null decision counts the requests without one of the decisions `ALLOW`, `HOLD` and `DENY`.
 */
function requestsOf(period: string): string {
  const rollupFrom = `greatest(date_bin('1 minute', now() - ${period} + interval '1 minute', 'epoch'),
    (select begins_at from traffic_rollup_begin))`
  return `select unnest(array['ALLOW', 'HOLD', 'DENY', null]), unnest(array[allow, hold, deny, requests - allow - hold - deny])
       from traffic_rollups where step = 60 and namespace is null and time >= ${rollupFrom}
     union all
     select decision, requests from traffic_increments where minute >= ${rollupFrom}
     union all
     select decision, requests from traffic where org_id = $1 and time > now() - ${period} and time < ${rollupFrom}`
}

const OUTCOME_OF: Readonly<Record<LogDecision, Outcome>> = {
  ALLOW: 'allow',
  HOLD: 'requires_approval',
  DENY: 'deny',
}

async function countDecisions(q: Query, orgId: string): Promise<Readonly<Record<Outcome, number>>> {
  const { rows } = await q.query<{ outcome: string | null; count: number }>(
    `select decision->>'outcome' as outcome, count(*) as count from action_requests
       where org_id = $1 and created_at > now() - interval '24 hours' group by 1
     union all
     select decision, sum(requests)::bigint from (${requestsOf("interval '24 hours'")}) as sums (decision, requests) group by 1`,
    [orgId],
  )
  const counts = { allow: 0, deny: 0, requires_approval: 0 }
  for (const { outcome, count } of rows) {
    const name = outcome !== null && outcome in OUTCOME_OF ? OUTCOME_OF[outcome as LogDecision] : outcome
    if (name !== null && name in counts) counts[name as Outcome] += count
  }
  return counts
}

export type ActionRow = {
  readonly id: string
  readonly orgId: string
  readonly agentId: string
  readonly agent: string
  readonly status: ActionRequestState
  readonly spec: ActionSpec
  readonly decision: DecisionView
  readonly connector: string
  readonly approvalId: string | null
  readonly webhook: Sealed | null
  readonly createdAt: Date
  /**
   * Id of the decision token; null when no token was issued or when retention removed its nonce. All times of the token
   * are in Unix seconds.
   */
  readonly jti: string | null
  readonly kid: string | null
  readonly issuedAt: number | null
  readonly expiresAt: number | null
  readonly usedBy: 'verify' | 'execute' | 'cancel' | null
  /** True when the decision token had expired when the row was read, by the clock of the database. */
  readonly isExpired: boolean
}

export async function getAction(q: Query, id: string): Promise<ActionRow | undefined> {
  const [row] = await listActions(q, [id])
  return row
}

export async function listActions(q: Query, ids: readonly string[]): Promise<readonly ActionRow[]> {
  if (ids.length === 0) return []
  const { rows } = await q.query<ActionRow>(
    `select a.id, org_id as "orgId", agent_id as "agentId", agent, status, action_spec as spec, decision, connector,
       approval_id as "approvalId", webhook, created_at as "createdAt", jti, kid,
       extract(epoch from issued_at)::bigint as "issuedAt", extract(epoch from expires_at)::bigint as "expiresAt",
       used_by as "usedBy", coalesce(expires_at <= clock_timestamp(), false) as "isExpired"
     from action_requests a left join nonces n on n.act_id = a.id where a.id = any($1::text[])`,
    [ids],
  )
  return rows
}
