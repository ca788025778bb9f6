import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import type { Query } from '../../db/query.ts'

/** A gateway with its full name, `namespace/name`. */
export type NamedGateway = { readonly gatewayId: string; readonly name: string }

/**
 * An agent that the gateway does not serve. `servedUntil`: Unix time in ms until which the gateway served the agent;
 * null if this was more than 7 days ago or never.
 */
export type ForeignAgent = { readonly name: string; readonly servedUntil: number | null }

/**
 * Returns the agents in the list that the gateway does not serve: agents that are bound to another gateway, and unknown
 * names in a namespace other than that of the gateway.
 */
export async function foreignAgents(
  q: Query,
  { gatewayId, name }: NamedGateway,
  agents: readonly string[],
): Promise<readonly ForeignAgent[]> {
  if (agents.length === 0) return []
  const { rows } = await q.query<ForeignAgent & { isKnown: boolean }>(
    `select asked.name, present.name is not null as "isKnown",
       (select extract(epoch from max(former.served_until)) * 1000 from former_gateways as former
         where former.agent = asked.name and former.gateway_id in ('', $2)
         and former.served_until > clock_timestamp() - interval '7 days')::float8 as "servedUntil"
     from (select distinct unnest($1::text[]) as name) as asked
     left join lateral (
       select name, gateway_id from agents where agents.name = asked.name
       order by status = 'revoked', created_at desc limit 1) as present on true
     where not coalesce(present.name is not null and (present.gateway_id is null or present.gateway_id = $2
         or not exists (select from gateways where gateways.id = present.gateway_id)), false)`,
    [agents, gatewayId],
  )
  return rows
    .filter((row) => row.isKnown || !mayName(name, row.name))
    .map((row) => ({ name: row.name, servedUntil: row.servedUntil }))
}

/**
 * Reports whether the gateway may create an agent with this name. The name must have no namespace, or the namespace of
 * the gateway.
 */
export function mayName(gateway: string, agent: string): boolean {
  return !agent.includes('/') || namespaceOf(agent) === namespaceOf(gateway)
}
