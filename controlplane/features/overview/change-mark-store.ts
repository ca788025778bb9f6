import type { ScopedQuery } from '../../db/scoped-query.ts'
import { IS_ABANDONED } from '../approvals/rows.ts'

/**
 * One opaque text (change mark) per kind of object. The text changes whenever an object of the kind changes, and is
 * only compared for equality.
 */
export type ChangeMarks = Readonly<Record<'approvals' | 'traffic' | 'config' | 'audit', string>>

/**
 * Returns the change marks. The statement reads only the ends of indexes, so two reads per second are cheap. Changes
 * through every replica change the marks. A record that arrives late does not change the newest time of the traffic
 * log. If the request of the record was held, an audit event changes the mark; otherwise clients find the record by
 * polling.
 */
export async function readChangeMarks(q: ScopedQuery, orgId: string): Promise<ChangeMarks> {
  const [row] = await (q.namespaces === 'all' ? marksOfAll(q, orgId) : marksIn(q, orgId))
  if (row === undefined) throw new Error('a query without a table answered no row')
  return row
}

/**
 * SQL expressions whose values change when a client with a pending approval disconnects or reconnects. The values
 * also change when an approval counts as abandoned and is no longer listed, because its client has been disconnected
 * for too long.
 */
const LEAVES = `count(left_at), max(left_at), count(*) filter (where ${IS_ABANDONED})`

function marksOfAll(q: ScopedQuery, orgId: string): Promise<readonly ChangeMarks[]> {
  return q.rows<ChangeMarks>(
    [orgId],
    (within) => `select
       concat_ws(' ',
         (select concat_ws(' ', count(*), max(expires_at), sum(jsonb_array_length(answers)), ${LEAVES}) from approvals where org_id = $1 and status = 'pending'
            and expires_at > clock_timestamp()),
         (select max(responded_at) from approvals where responded_at is not null)) as approvals,
       concat_ws(' ',
         (select concat_ws(' ', time, id) from traffic where org_id = $1 order by time desc, id desc limit 1),
         (select max(last_seen_at) from agents where org_id = $1),
         (select max(id) from audit_events where org_id = $1)) as traffic,
       (select version::text from config_version) as config,
       coalesce((select max(id)::text from audit_events where org_id = $1), '') as audit
     where ${within.namespace('null')}`,
  )
}

/**
 * Reads the change marks of some namespaces. For the newest traffic record, the mark contains `agents.last_seen_at`.
 * Every configuration change in a namespace inserts an audit event or updates a push result
 * (`manifest_objects.updated_at`).
 */
function marksIn(q: ScopedQuery, orgId: string): Promise<readonly ChangeMarks[]> {
  return q.rows<ChangeMarks>(
    [orgId],
    (within) => `with events as (
       select coalesce(max((
         select id from audit_events where org_id = $1 and namespace = own.name order by id desc limit 1))::text, '') as newest
       from unnest(${within.array()}) as own(name)
     ), seen as (
       select max(last_seen_at) as newest, count(*) as agents from agents where org_id = $1 and ${within.name('name')}
     ), judged as (
       select max(updated_at) as newest, count(*) as objects from manifest_objects where ${within.namespace('namespace')}
     )
     select
       (select concat_ws(' ', count(*), max(expires_at), sum(jsonb_array_length(answers)), ${LEAVES}, events.newest) from approvals
        where org_id = $1 and status = 'pending' and expires_at > clock_timestamp() and ${within.name('agent')}) as approvals,
       concat_ws(' ', seen.newest, events.newest) as traffic,
       concat_ws(' ', judged.newest, judged.objects, seen.agents, events.newest) as config,
       events.newest as audit
     from events, seen, judged`,
  )
}
