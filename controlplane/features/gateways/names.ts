import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { covers } from '../../../core/wire/access/rights.ts'
import type { Query } from '../../db/query.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { findAgentIn } from '../agents/store.ts'
import {
  findGatewayByName,
  findGatewayIn,
  type GatewayRow,
  gatewayNamesIn,
  getGateway,
  listGatewaysIn,
} from './store.ts'

/** The gateway that runs beside the control plane on one machine. */
export const LOCAL_GATEWAY = 'default/local'

/** The local gateway, when this installation has one. */
export async function defaultGateway(q: Query): Promise<GatewayRow | undefined> {
  return findGatewayByName(q, LOCAL_GATEWAY)
}

/** By id, by full name, or by the name inside the namespace `default`. */
export async function findGateway(q: Query, nameOrId: string): Promise<GatewayRow | undefined> {
  return (
    (await getGateway(q, nameOrId)) ??
    (await findGatewayByName(q, nameOrId)) ??
    (await findGatewayByName(q, `default/${nameOrId}`))
  )
}

/** The same; 404 when there is none. */
export async function requireGateway(q: Query, nameOrId: string): Promise<GatewayRow> {
  return (await findGateway(q, nameOrId)) ?? refuse(nameOrId)
}

/** The same in some namespaces. */
export async function requireGatewayIn(q: ScopedQuery, nameOrId: string): Promise<GatewayRow> {
  return (await findIn(q, nameOrId)) ?? refuse(nameOrId)
}

async function findIn(q: ScopedQuery, nameOrId: string): Promise<GatewayRow | undefined> {
  return (await findGatewayIn(q, nameOrId)) ?? (await findGatewayIn(q, `default/${nameOrId}`))
}

function refuse(nameOrId: string): never {
  throw new ChaperoneError('not_found', {
    detail: `There is no gateway ${nameOrId}: see GET /api/dashboard/gateway`,
  })
}

/**
 * The id of the gateway that is named, else of the agent's own, else of the local or the only one. An agent of the namespaces
 * is also judged by its own gateway elsewhere. Undefined for no gateway; throws `not_found` for an agent elsewhere.
 */
export async function gatewayOfAgent(
  q: ScopedQuery,
  given: { readonly gateway: string | undefined; readonly agent: string },
): Promise<string | undefined> {
  if (!covers(q.namespaces, namespaceOf(given.agent) || null))
    throw new ChaperoneError('not_found', { detail: `There is no agent ${given.agent}: check its name` })
  const own = (await findAgentIn(q, given.agent))?.gatewayId ?? undefined
  if (given.gateway !== undefined)
    return (await findIn(q, given.gateway))?.id ?? (await named(q, given.gateway, own))
  if (own !== undefined) return own
  const gateways = await listGatewaysIn(q)
  return (
    gateways.find(({ name }) => name === LOCAL_GATEWAY)?.id ??
    (gateways.length === 1 ? gateways[0]?.id : undefined)
  )
}

/** The agent's own gateway where it is the one that is named. */
async function named(q: ScopedQuery, nameOrId: string, own: string | undefined): Promise<string | undefined> {
  if (own === undefined) return undefined
  const name = (await gatewayNamesIn(q)).get(own)
  return nameOrId === own || nameOrId === name ? own : undefined
}
