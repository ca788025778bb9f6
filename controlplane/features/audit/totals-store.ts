import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import type { AuditScope } from './reading-store.ts'

export type AuditCount = {
  /** Highest event id that is counted. */
  readonly upTo: number
  readonly count: number
  /** Number of retention runs at the time of the count. A later retention run makes the count invalid. */
  readonly purges: number
  /** The part of `count` that is stored in the database. */
  readonly stored: number
}

/**
 * Number of newly counted events after which the count is stored. The limit bounds the events that a restarted process
 * has to count.
 */
const STORE_EVERY = 10_000
const MAX_PURGES = 3

/**
 * Returns the number of events: the cached or stored count plus the number of newer events. The caller may cache only
 * `settled`, which counts events older than 5 minutes, because no transaction in progress can still commit such an
 * event.
 */
export async function countAuditEvents(
  q: Query,
  scope: AuditScope,
  known: AuditCount | null,
): Promise<{ readonly total: number; readonly settled: AuditCount }> {
  let base = known ?? (await storedCount(q, scope))
  let counted = await countFrom(q, scope, base)
  for (let again = 0; counted.purges !== base.purges && again < MAX_PURGES; again++) {
    base = await storedCount(q, scope)
    counted = await countFrom(q, scope, base)
  }
  const count = base.count + counted.settled
  const settled = { ...base, upTo: counted.settledTo ?? base.upTo, count, purges: counted.purges }
  const isNews = totalKey(scope) !== null && count - base.stored >= STORE_EVERY
  if (isNews) await storeCount(q, scope, settled)
  return { total: base.count + counted.all, settled: isNews ? { ...settled, stored: count } : settled }
}

type Counted = {
  readonly all: number
  readonly settled: number
  readonly settledTo: number | null
  readonly purges: number
}

async function countFrom(q: Query, scope: AuditScope, { upTo }: AuditCount): Promise<Counted> {
  const own = ownClause(scope)
  const { rows } = await q.query<Counted>(
    `with fresh as (
       select coalesce(min(id), 9223372036854775807) as id from audit_events
       where org_id = $1 ${own} and id > $3 and created_at >= now() - interval '5 minutes'
     )
     select count(*) as all, count(*) filter (where e.id < fresh.id) as settled,
       max(e.id) filter (where e.id < fresh.id) as "settledTo", ${PURGES} as purges
     from audit_events e, fresh where org_id = $1 ${own} and e.id > $3`,
    [scope.orgId, keyOf(scope), upTo],
  )
  return onlyRow(rows)
}

const PURGES = 'coalesce((select purges from audit_purges where org_id = $1), 0)'

async function storedCount(q: Query, scope: AuditScope): Promise<AuditCount> {
  const { rows } = await q.query<AuditCount>(
    `select coalesce(t.up_to, 0) as "upTo", coalesce(t.events, 0) as count, coalesce(t.events, 0) as stored,
       ${PURGES} as purges
     from (values (1)) as one left join audit_totals t on t.org_id = $1 and t.agent_id = $2`,
    [scope.orgId, totalKey(scope)],
  )
  return onlyRow(rows)
}

/** Stores the count. Skips a count that is older than the last retention run or than the stored count. */
async function storeCount(q: Query, scope: AuditScope, known: AuditCount): Promise<void> {
  const { orgId } = scope
  await q.query('insert into audit_purges (org_id, purges) values ($1, 0) on conflict do nothing', [orgId])
  await q.query(
    `with held as (select purges from audit_purges where org_id = $1 for share)
     insert into audit_totals as t (org_id, agent_id, up_to, events)
     select $1, $2, $3, $4 from held where purges = $5
     on conflict (org_id, agent_id) do update set up_to = excluded.up_to, events = excluded.events
       where t.up_to < excluded.up_to`,
    [orgId, totalKey(scope), known.upTo, known.count, known.purges],
  )
}

/**
 * Returns the SQL condition that selects the events of the scope. Each kind of scope has its own condition, so that the
 * query uses the index of this kind. Every condition must contain `$2`.
 */
export function ownClause({ of }: AuditScope): string {
  return of === 'all' ? 'and $2::text is null' : `and ${COLUMNS[of]} = $2`
}

const COLUMNS = { agent: 'agent_id', namespace: 'namespace' } as const

/** Returns the value of the parameter `$2` in the condition of `ownClause`. */
export function keyOf(scope: AuditScope): string | null {
  return scope.of === 'all' ? null : scope.key
}

/**
 * Returns the key of the scope in the table `audit_totals`. Returns null for a namespace: totals of namespaces are not
 * stored, because retention does not adjust them.
 */
function totalKey(scope: AuditScope): string | null {
  return scope.of === 'namespace' ? null : (keyOf(scope) ?? '')
}
