import type { FloorRules } from '../../../core/crd/gateway/floors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  GatewayList,
  type GatewayLive,
  type GatewayView,
  PatchGatewayBody,
  PatchGatewayReply,
  QuickSetupBody,
  QuickSetupReply,
  SetUpGatewayBody,
  SetUpGatewayReply,
} from '../../../core/wire/gateways.ts'
import { refuseRestricted } from '../../http/auth/restriction.ts'
import { requireAdditionalRight } from '../../http/auth/rights.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import { atItsFloor } from '../gateways/floor.ts'
import type { GatewayRow } from '../gateways/rows.ts'
import type { Origins } from '../manifests/object-origins.ts'
import type { Config } from './configuration.ts'
import type { Setup } from './setup.ts'

export type ConfigRoutesDeps = {
  readonly config: Config
  readonly setup: Setup
  /** Returns the live state of a gateway; null when no process of the gateway is connected. */
  readonly liveOf: (gatewayId: string) => GatewayLive | null
  readonly floorRules: FloorRules
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
}

export function createConfigRoutes(deps: ConfigRoutesDeps): readonly Route[] {
  return [list(deps), wizard(deps), patch(deps), setup(deps)]
}

function list(deps: ConfigRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/dashboard/gateway',
    auth: 'gateways/get',
    isNamespaced: true,
    summary: 'Lists all gateways with the state of their processes',
    response: GatewayList,
    handler: async ({ namespaces }) => {
      const [rows, origins] = await Promise.all([deps.config.gateways(namespaces), deps.origins(namespaces)])
      return { gateways: rows.map((row) => gatewayView(row, { ...deps, origins })) }
    },
  })
}

function wizard({ setup: service }: ConfigRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/dashboard/gateway',
    auth: 'gateways/update',
    summary: 'Creates a gateway with connectors, access rules and an agent; secrets are shown once',
    body: SetUpGatewayBody,
    response: SetUpGatewayReply,
    handler: async ({ body, principal, namespaces: given }) => {
      const everywhere = { given, isNamespaced: false }
      if (body.connectors.length > 0) await requireAdditionalRight(principal, 'credentials/set', everywhere)
      if (body.agent !== undefined) await requireAdditionalRight(principal, 'agents/update', everywhere)
      const { gateway, gatewayToken, apiKey } = await service.wizard(actorOf(principal), body)
      return {
        ok: true as const,
        gateway_id: gateway.id,
        api_key: apiKey,
        gateway_name: gateway.name,
        gateway_token: gatewayToken,
      }
    },
  })
}

function patch(deps: ConfigRoutesDeps): Route {
  return route({
    method: 'PATCH',
    path: '/api/dashboard/gateway',
    auth: 'gateways/update',
    admits: ['machine_token'],
    summary: 'Changes the enforcement level, name or address of a gateway',
    body: PatchGatewayBody,
    response: PatchGatewayReply,
    handler: async ({ body, principal, namespaces }) => {
      const { gateway_id: id, ...change } = body
      const isAddress = Object.keys(change).every((key) => key === 'host' || key === 'port')
      // The CLI stores the address of the local gateway, so its restricted token may change the address. Other fields
      // require an unrestricted user.
      if (!isAddress) refuseRestricted(principal)
      const row = await deps.config.changeGateway(actorOf(principal), id, change)
      return {
        ok: true as const,
        gateway: gatewayView(row, { ...deps, origins: await deps.origins(namespaces) }),
      }
    },
  })
}

function setup({ setup: service }: ConfigRoutesDeps): Route {
  return route({
    method: 'POST',
    path: '/api/dashboard/setup',
    auth: 'credentials/set',
    summary: 'Creates an agent with its connectors and permissions',
    body: QuickSetupBody,
    response: QuickSetupReply,
    handler: async ({ body, principal, namespaces: given }) => {
      await requireAdditionalRight(principal, 'agents/update', { given, isNamespaced: false })
      const input = { ...body, gateway: body.gateway?.name }
      const { agentId, apiKey, gatewayId, connectors, permissionsCreated } = await service.quick(
        actorOf(principal),
        input,
      )
      return {
        ok: true as const,
        agent_id: agentId,
        api_key: apiKey,
        gateway_id: gatewayId,
        connectors,
        permissions_created: permissionsCreated,
      }
    },
  })
}

function gatewayView(
  row: GatewayRow,
  { liveOf, floorRules, origins }: Omit<ConfigRoutesDeps, 'origins'> & { readonly origins: Origins },
): GatewayView {
  const live = liveOf(row.id)
  return {
    id: row.id,
    name: row.name,
    host: row.host,
    port: row.port,
    status: statusOf(live),
    enforcementLevel: atItsFloor(row, floorRules).spec.enforcementLevel,
    live,
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.of('Gateway', row),
    created_at: row.createdAt.toISOString(),
  }
}

function statusOf(live: GatewayLive | null): GatewayView['status'] {
  if (live === null) return 'stopped'
  const { applied_version: applied, desired_version: desired } = live
  return applied !== null && applied >= (desired ?? 0) ? 'running' : 'degraded'
}
