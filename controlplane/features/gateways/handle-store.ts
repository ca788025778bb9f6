import type { TrafficRecord } from '../../../core/record.ts'
import type { HandlesBody, HandlesReply } from '../../../core/wire/gateway/handles.ts'
import type { Query } from '../../db/query.ts'
import type { DeleteBatch } from '../maintenance/store.ts'

/**
 * Maximum number of provider handles (ids of sessions, responses, files) that are kept per agent. The oldest are
 * deleted first.
 */
const MAX_OF_AGENT = 100_000
const KEPT_DAYS = 90

/** Stores the handles that providers returned to the agents of these traffic records. */
export async function insertHandles(q: Query, records: readonly TrafficRecord[]): Promise<void> {
  const given = records.flatMap(({ agent, gateway, given }) =>
    (given ?? []).map(({ kind, hash }) => ({ agent, gateway, kind, hash })),
  )
  if (given.length === 0) return
  await q.query(
    `insert into provider_handles (hash, agent_id, kind, gateway)
     select distinct on (g.hash, a.id) g.hash, a.id, g.kind, g.gateway
     from jsonb_to_recordset($1::jsonb) as g(agent text, gateway text, kind text, hash text)
       join agents a on a.name = g.agent and a.status <> 'revoked'
     order by g.hash, a.id
     on conflict do nothing`,
    [JSON.stringify(given)],
  )
}

/**
 * Returns for each hash of a handle whether this agent owns the handle (`own`), only other agents own it (`foreign`),
 * or no agent does (`unknown`).
 */
export async function findHandleOwners(q: Query, { agent, hashes }: HandlesBody): Promise<HandlesReply> {
  const { rows } = await q.query<{ hash: string; own: boolean }>(
    `select hash, bool_or(agent_id in (select id from agents where name = $2 and status <> 'revoked')) as own
     from provider_handles where hash = any($1::text[]) group by hash`,
    [hashes, agent],
  )
  const owners = new Map(rows.map(({ hash, own }) => [hash, own ? ('own' as const) : ('foreign' as const)]))
  return { owners: hashes.map((hash) => owners.get(hash) ?? 'unknown') }
}

/** Deletes handles that are older than 90 days, and the oldest handles of an agent beyond 100,000. */
export const deleteOldHandles: DeleteBatch = async (q, limit) => {
  const old = await q.query(
    `delete from provider_handles where ctid = any(array(
       select ctid from provider_handles where received_at < now() - make_interval(days => $1) limit $2))`,
    [KEPT_DAYS, limit],
  )
  const left = limit - (old.rowCount ?? 0)
  const surplus = await q.query(
    `delete from provider_handles where ctid = any(array(
       select ctid from (
         select ctid, row_number() over (partition by agent_id order by received_at desc, hash) as place
         from provider_handles
         where agent_id in (select agent_id from provider_handles group by agent_id having count(*) > $1)) as ranked
       where place > $1 limit $2))`,
    [MAX_OF_AGENT, left],
  )
  return (old.rowCount ?? 0) + (surplus.rowCount ?? 0)
}
