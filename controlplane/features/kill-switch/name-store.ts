import type { KillNames } from '../../../core/decision/kill-switch/kill-scope-names.ts'
import type { Query } from '../../db/query.ts'

/**
 * Lists the names of agents, connectors and gateways that the scope of a kill switch may contain. Omits revoked agents,
 * and agents beyond 10,000.
 */
export async function listKillNames(q: Query, orgId: string): Promise<KillNames> {
  const { rows } = await q.query<KillNames>(
    `select
       (select coalesce(json_agg(json_build_object('id', id, 'name', name)), '[]') from
         (select id, name from agents where org_id = $1 and status <> 'revoked' limit 10000) a) as agents,
       (select coalesce(json_agg(json_build_object('type', type, 'name', name)), '[]') from connectors
         where org_id = $1) as connectors,
       (select coalesce(json_agg(name), '[]') from gateways where org_id = $1) as gateways`,
    [orgId],
  )
  return rows[0] ?? { agents: [], connectors: [], gateways: [] }
}
