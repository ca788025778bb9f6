import type { Query } from './query.ts'

/** What stands for the state of each kind; compared, never read. */
export type ChangeMarks = Readonly<Record<'approvals' | 'traffic' | 'config' | 'audit', string>>

/**
 * Ends of indexes only, so that asking twice a second costs next to nothing, whichever replica made the change. A record
 * that arrives late moves no newest time: after a hold its audit event tells, else whoever watches looks now and then.
 */
export async function readChangeMarks(q: Query, orgId: string): Promise<ChangeMarks> {
  const { rows } = await q.query<ChangeMarks>(
    `select
       concat_ws(' ',
         (select concat_ws(' ', count(*), max(expires_at), sum(jsonb_array_length(answers))) from approvals where org_id = $1 and status = 'pending'
            and expires_at > clock_timestamp()),
         (select max(responded_at) from approvals where responded_at is not null)) as approvals,
       concat_ws(' ',
         (select concat_ws(' ', time, id) from traffic where org_id = $1 order by time desc, id desc limit 1),
         (select max(last_seen_at) from agents where org_id = $1),
         (select max(id) from audit_events where org_id = $1)) as traffic,
       (select version::text from config_version) as config,
       coalesce((select max(id)::text from audit_events where org_id = $1), '') as audit`,
    [orgId],
  )
  const [row] = rows
  if (row === undefined) throw new Error('a query without a table answered no row')
  return row
}
