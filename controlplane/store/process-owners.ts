import type { Query } from './query.ts'

/** Longer than records of a process can be uploaded after it ended. */
const KEEP = "interval '30 days'"
/** New process ids of one owner within an hour: a process makes one when it starts. */
const MAX_NEW_PER_HOUR = 1_000

/**
 * Those of these process ids that belong to `owner`; unknown ids become its own. A gateway that no longer exists owns
 * nothing: the journal of its processes may be uploaded under its successor.
 */
export async function claimProcesses(
  q: Query,
  owner: string,
  processIds: readonly string[],
): Promise<readonly string[]> {
  const { rows } = await q.query<{ id: string }>(
    `with old as (
       delete from process_owners where seen_at < clock_timestamp() - ${KEEP} and not process_id = any($2::text[])
     ), recent as (
       select count(*) as n from process_owners where owner = $1 and seen_at > clock_timestamp() - interval '1 hour'
     )
     insert into process_owners as p (process_id, owner)
     select id, $1 from unnest($2::text[]) as id, recent
     where recent.n < ${MAX_NEW_PER_HOUR} or exists (select from process_owners where process_id = id)
     order by id
     on conflict (process_id) do update set owner = excluded.owner, seen_at = clock_timestamp()
       where p.owner = excluded.owner or (p.owner like 'gateway:%'
         and not exists (select from gateways g where 'gateway:' || g.id = p.owner))
     returning process_id as id`,
    [owner, processIds],
  )
  return rows.map(({ id }) => id)
}
