import { namespaceOf } from '../../core/decision/kill-reach.ts'
import type { Query } from './query.ts'

/** `name` is `namespace/name`. */
export type NamedGateway = { readonly gatewayId: string; readonly name: string }

/**
 * Returns those of these agents for which the gateway does not speak: agents that are bound to another gateway, and names
 * without an agent in a namespace that is not the gateway's. With `withFormer` a gateway also speaks for agents that it
 * served within the last 7 days: their records may arrive late.
 */
export async function foreignAgents(
  q: Query,
  { gatewayId, name }: NamedGateway,
  given: { readonly agents: readonly string[]; readonly withFormer: boolean },
): Promise<readonly string[]> {
  if (given.agents.length === 0) return []
  const { rows } = await q.query<{ name: string; isKnown: boolean }>(
    `select asked.name, present.name is not null as "isKnown"
     from (select distinct unnest($1::text[]) as name) as asked
     left join lateral (
       select name, gateway_id from agents where agents.name = asked.name
       order by status = 'revoked', created_at desc limit 1) as present on true
     where not coalesce(present.name is not null and (present.gateway_id is null or present.gateway_id = $2
         or not exists (select from gateways where gateways.id = present.gateway_id)), false)
       and not ($3 and exists (select from former_gateways as former where former.agent = asked.name
         and former.gateway_id in ('', $2)
         and former.until > clock_timestamp() - interval '7 days'))`,
    [given.agents, gatewayId, given.withFormer],
  )
  const isOwn = (row: (typeof rows)[number]) => !row.isKnown && mayName(name, row.name)
  return rows.filter((row) => !isOwn(row)).map((row) => row.name)
}

/** A gateway makes agents without a namespace and those of its own. */
export function mayName(gateway: string, agent: string): boolean {
  return !agent.includes('/') || namespaceOf(agent) === namespaceOf(gateway)
}
