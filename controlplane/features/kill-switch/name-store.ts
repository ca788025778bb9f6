import type { KillNames } from '../../../core/decision/kill-switch/kill-scope-names.ts'
import type { Query } from '../../db/query.ts'

/**
 * Lists the names of agents, instances, connectors and gateways that the scope of a kill switch may contain. Omits
 * revoked agents, deleted pods, and agents and pods beyond 10,000 each.
 */
export async function listKillNames(q: Query, orgId: string): Promise<KillNames> {
  const { rows } = await q.query<KillNames>(
    `select
       (select coalesce(json_agg(json_build_object('id', id, 'name', name)), '[]') from
         (select id, name from agents where org_id = $1 and status <> 'revoked' limit 10000) a) as agents,
       (select coalesce(json_agg(json_build_object('type', type, 'name', name)), '[]') from connectors
         where org_id = $1) as connectors,
       (select coalesce(json_agg(name), '[]') from gateways where org_id = $1) as gateways,
       (select coalesce(json_agg(json_strip_nulls(json_build_object('pod', namespace || '/' || name, 'pod_uid', pod_uid,
           'claim', namespace || '/' || (claim->>'name')))), '[]') from
         (select namespace, name, pod_uid, claim from pod_identities where deleted_at is null limit 10000) p)
         as instances`,
    [orgId],
  )
  return rows[0] ?? { agents: [], connectors: [], gateways: [], instances: [] }
}
