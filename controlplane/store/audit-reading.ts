import type { Query } from './query.ts'

export type AuditRow = {
  readonly id: number
  readonly eventType: string
  readonly orgId: string
  readonly agentId: string | null
  readonly userId: string | null
  readonly actionRequestId: string | null
  readonly details: Record<string, unknown>
  readonly createdAt: Date
}

/** Whose events: an agent's own, or (null) everybody's. */
export type AuditScope = { readonly orgId: string; readonly agentId: string | null }

/** Newest first. The offset is walked in the index alone; rows are read only for the page. */
export async function listAuditEvents(
  q: Query,
  scope: AuditScope,
  page: { readonly limit: number; readonly offset: number },
): Promise<readonly AuditRow[]> {
  const own = ownClause(scope)
  const { rows } = await q.query<AuditRow>(
    `select id, event_type as "eventType", org_id as "orgId", agent_id as "agentId", user_id as "userId",
       action_request_id as "actionRequestId", details, created_at as "createdAt"
     from audit_events where org_id = $1 ${own}
       and id <= (select id from audit_events where org_id = $1 ${own} order by id desc offset $3 limit 1)
     order by id desc limit $4`,
    [scope.orgId, scope.agentId, page.offset, page.limit],
  )
  return rows
}

export type AuditCount = {
  /** All events up to here were counted before. */
  readonly upTo: number
  readonly count: number
  /** The oldest event there was; another one now means that retention has been here. */
  readonly oldest: number | null
}

/**
 * Counts on from what was counted before. `settled` ends at events so old that no transaction which began before them
 * can still commit one with a smaller number: only it may be kept.
 */
export async function countAuditEvents(
  q: Query,
  scope: AuditScope,
  known: AuditCount,
): Promise<{ readonly total: number; readonly settled: AuditCount }> {
  const fresh = await countFrom(q, scope, known)
  const isPurged = known.oldest !== null && fresh.oldest !== known.oldest
  const base = isPurged ? { upTo: 0, count: 0, oldest: null } : known
  const counted = isPurged ? await countFrom(q, scope, base) : fresh
  return {
    total: base.count + counted.all,
    settled: {
      upTo: counted.settledTo ?? base.upTo,
      count: base.count + counted.settled,
      oldest: counted.oldest,
    },
  }
}

type Counted = {
  readonly all: number
  readonly settled: number
  readonly settledTo: number | null
  readonly oldest: number | null
}

async function countFrom(q: Query, scope: AuditScope, { upTo }: AuditCount): Promise<Counted> {
  const own = ownClause(scope)
  const { rows } = await q.query<Counted>(
    `with fresh as (
       select coalesce(min(id), 9223372036854775807) as id from audit_events
       where org_id = $1 ${own} and id > $3 and created_at >= now() - interval '5 minutes'
     )
     select count(*) as all, count(*) filter (where e.id < fresh.id) as settled,
       max(e.id) filter (where e.id < fresh.id) as "settledTo",
       (select min(id) from audit_events where org_id = $1 ${own}) as oldest
     from audit_events e, fresh where org_id = $1 ${own} and e.id > $3`,
    [scope.orgId, scope.agentId, upTo],
  )
  return rows[0] ?? { all: 0, settled: 0, settledTo: null, oldest: null }
}

/** Written out, so that each has its own index. `$2` has to be named in both. */
function ownClause({ agentId }: AuditScope): string {
  return agentId === null ? 'and $2::text is null' : 'and agent_id = $2'
}
