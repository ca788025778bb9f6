import type { Query } from '../../../db/query.ts'

/**
 * Time for which a gateway or pod owns the id of a gateway process. This time must exceed the period in which a gateway
 * can upload records of an ended process.
 */
const KEEP = "interval '30 days'"
/**
 * Maximum number of new process ids that one gateway or pod may claim within an hour. A gateway process generates one
 * id at its start.
 */
export const MAX_NEW_PER_HOUR = 1_000

/**
 * Process ids by owner (gateway or pod). `own`: ids that the caller owns. `foreign`: ids of other owners. An id in
 * neither list is new, but the caller may not claim the id, because the caller has reached `MAX_NEW_PER_HOUR`.
 */
export type ClaimedProcesses = { readonly own: readonly string[]; readonly foreign: readonly string[] }

/**
 * Claims process ids for `owner`, a gateway or pod. Returns which ids belong to this owner and which to other owners.
 * This owner gets unknown ids, up to `MAX_NEW_PER_HOUR`, and the ids of deleted gateways, so that a gateway which
 * replaces a deleted gateway may upload the journal of the old processes.
 */
export async function claimProcesses(
  q: Query,
  owner: string,
  processIds: readonly string[],
): Promise<ClaimedProcesses> {
  const { rows } = await q.query<{ id: string }>(
    `with old as (
       delete from process_owners where seen_at < clock_timestamp() - ${KEEP} and not process_id = any($2::text[])
     ), recent as (
       select count(*) as n from process_owners where owner = $1 and first_seen_at > clock_timestamp() - interval '1 hour'
     )
     insert into process_owners as p (process_id, owner)
     select id, $1 from recent, (
       select id, is_known, count(*) filter (where not is_known) over (order by id) as nth
       from (select distinct id, exists (select from process_owners where process_id = id) as is_known
         from unnest($2::text[]) as id) as asked
     ) as numbered
     where is_known or recent.n + nth <= ${MAX_NEW_PER_HOUR}
     order by id
     on conflict (process_id) do update set owner = excluded.owner, seen_at = clock_timestamp()
       where p.owner = excluded.owner or (p.owner like 'gateway:%'
         and not exists (select from gateways g where 'gateway:' || g.id = p.owner))
     returning process_id as id`,
    [owner, processIds],
  )
  const own = rows.map(({ id }) => id)
  const missing = processIds.filter((id) => !own.includes(id))
  if (missing.length === 0) return { own, foreign: [] }
  const { rows: known } = await q.query<{ id: string }>(
    'select process_id as id from process_owners where process_id = any($1::text[]) and owner <> $2',
    [missing, owner],
  )
  return { own, foreign: known.map(({ id }) => id) }
}
