import { ChaperoneError } from '../../core/errors.ts'
import { findAgentByName } from '../store/agents.ts'
import { findGatewayByName, type GatewayRow, getGateway, listGateways } from '../store/gateways.ts'
import type { Query } from '../store/query.ts'

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
  const found = await findGateway(q, nameOrId)
  if (found !== undefined) return found
  throw new ChaperoneError('not_found', {
    detail: `There is no gateway ${nameOrId}: see GET /api/dashboard/gateway`,
  })
}

/** The gateway that is named, else the agent's own, else the local or the only one. */
export async function gatewayOfAgent(
  q: Query,
  given: { readonly gateway: string | undefined; readonly agent: string },
): Promise<string | undefined> {
  if (given.gateway !== undefined) return (await findGateway(q, given.gateway))?.id
  const agent = await findAgentByName(q, given.agent)
  if (agent?.gatewayId) return agent.gatewayId
  const gateways = await listGateways(q)
  return (
    gateways.find(({ name }) => name === LOCAL_GATEWAY)?.id ??
    (gateways.length === 1 ? gateways[0]?.id : undefined)
  )
}
