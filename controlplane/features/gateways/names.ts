import { namespaceOf } from '../../../core/decision/kill-switch/kill-reach.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import { covers } from '../../../core/wire/access/rights.ts'
import type { Query } from '../../db/query.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { findAgentIn } from '../agents/rows.ts'
import {
  findGatewayByName,
  findGatewayIn,
  type GatewayRow,
  gatewayNamesIn,
  getGateway,
  listGatewaysIn,
} from './rows.ts'

/** The gateway that runs with the control plane on one machine. */
export const LOCAL_GATEWAY = 'default/local'

/** Returns the gateway `default/local`; undefined when the installation has none. */
export async function defaultGateway(q: Query): Promise<GatewayRow | undefined> {
  return findGatewayByName(q, LOCAL_GATEWAY)
}

/** Finds a gateway by its id, by its full name, or by its name in the namespace `default`. */
export async function findGateway(q: Query, nameOrId: string): Promise<GatewayRow | undefined> {
  return (
    (await getGateway(q, nameOrId)) ??
    (await findGatewayByName(q, nameOrId)) ??
    (await findGatewayByName(q, `default/${nameOrId}`))
  )
}

/** Finds a gateway in the same way as `findGateway`. Throws `not_found` when the gateway does not exist. */
export async function requireGateway(q: Query, nameOrId: string): Promise<GatewayRow> {
  return (await findGateway(q, nameOrId)) ?? refuse(nameOrId)
}

/**
 * Finds a gateway in the namespaces of the caller, by id or name. Throws `not_found` when the gateway does not exist.
 */
export async function requireGatewayIn(q: ScopedQuery, nameOrId: string): Promise<GatewayRow> {
  return (await findIn(q, nameOrId)) ?? refuse(nameOrId)
}

async function findIn(q: ScopedQuery, nameOrId: string): Promise<GatewayRow | undefined> {
  return (await findGatewayIn(q, nameOrId)) ?? (await findGatewayIn(q, `default/${nameOrId}`))
}

function refuse(nameOrId: string): never {
  throw new ChaperoneError('not_found', {
    detail: `There is no gateway ${nameOrId}. GET /api/dashboard/gateway lists the gateways.`,
  })
}

/**
 * Returns the id of the gateway for an agent. A named gateway takes precedence; otherwise the agent's gateway applies,
 * then `default/local`, then the only gateway. The agent's gateway may be in a namespace that the caller cannot read.
 * Returns undefined when none of these gateways exists. Throws `not_found` for an agent outside the caller's
 * namespaces.
 */
export async function gatewayOfAgent(
  q: ScopedQuery,
  given: { readonly gateway: string | undefined; readonly agent: string },
): Promise<string | undefined> {
  if (!covers(q.namespaces, namespaceOf(given.agent) || null))
    throw new ChaperoneError('not_found', { detail: `There is no agent ${given.agent}. Check the name.` })
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

/** Returns the id of the agent's gateway (`own`) if `nameOrId` names this gateway; undefined otherwise. */
async function named(q: ScopedQuery, nameOrId: string, own: string | undefined): Promise<string | undefined> {
  if (own === undefined) return undefined
  const name = (await gatewayNamesIn(q)).get(own)
  return nameOrId === own || nameOrId === name ? own : undefined
}
