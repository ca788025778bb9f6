import { ChaperoneError } from '../../core/errors.ts'
import { findGatewayByName, type GatewayRow, getGateway } from '../store/gateways.ts'
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
