import type { TrafficRecord } from '../../../../core/record.ts'
import type { HandlesBody, HandlesReply } from '../../../../core/wire/gateway/handles.ts'
import type { Query } from '../../../db/query.ts'

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
