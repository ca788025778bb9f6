import * as z from 'zod'
import type { FloorRules } from '../../../core/crd/floors.ts'
import { EnforcementLevelSchema } from '../../../core/crd/gateway-spec.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  AgentName,
  Environment,
  GatewayName,
  Id,
  Ok,
  Runtime,
  SetupConnectorSchema,
} from '../../../core/wire/fields.ts'
import { Host, Port, SetUpGatewayBody, SetUpGatewayReply } from '../../../core/wire/gateways.ts'
import { ObjectOrigin } from '../../../core/wire/operator/origin.ts'
import { actorOf } from '../../events.ts'
import { refuseRestricted } from '../../http/auth/restriction.ts'
import { requireAdditionalRight } from '../../http/auth/rights.ts'
import { type Route, route } from '../../http/route.ts'
import type { GatewayLive } from '../../sync/gateway-live.ts'
import { atItsFloor } from '../gateways/floor.ts'
import type { GatewayRow } from '../gateways/store.ts'
import type { Origins } from '../manifests/object-origins.ts'
import type { Config } from './configuration.ts'
import type { Setup } from './setup.ts'

export type ConfigRoutesDeps = {
  readonly config: Config
  readonly setup: Setup
  /** Returns the live state of a gateway; null when no process is connected. */
  readonly liveOf: (gatewayId: string) => GatewayLive | null
  readonly floorRules: FloorRules
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
}

const GatewayView = z.looseObject({
  id: z.string(),
  name: z.string(),
  host: z.string(),
  port: z.number(),
  status: z.enum(['stopped', 'running', 'degraded']),
  enforcementLevel: EnforcementLevelSchema,
  live: z.looseObject({}).nullable(),
  origin: ObjectOrigin,
})

const GatewayPatch = z
  .strictObject({
    gateway_id: Id,
    name: GatewayName.optional(),
    host: Host.optional(),
    port: Port.optional(),
    enforcementLevel: EnforcementLevelSchema.optional(),
    reason: z.string().max(1_000).optional(),
  })
  .refine(
    ({ name, host, port, enforcementLevel }) => (name ?? host ?? port ?? enforcementLevel) !== undefined,
    {
      path: ['enforcementLevel'],
      message: 'name a field to change: enforcementLevel, name, host or port',
    },
  )

const SetupBody = z.strictObject({
  agent: z.strictObject({ name: AgentName, runtime: Runtime, environment: Environment }),
  connectors: z.array(SetupConnectorSchema).max(64),
  gateway: z.strictObject({ name: GatewayName }).optional(),
})

export function createConfigRoutes(deps: ConfigRoutesDeps): readonly Route[] {
  return [list(deps), wizard(deps), patch(deps), setup(deps)]
}

function list(deps: ConfigRoutesDeps): Route {
  return route({
    method: 'GET',
    path: '/api/dashboard/gateway',
    auth: 'gateways/get',
    isNamespaced: true,
    summary: 'All gateways, with what runs of them',
    response: z.object({ gateways: z.array(GatewayView) }),
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
    summary: 'Builds a gateway with connectors, access rules and an agent; secrets are shown this once',
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
    body: GatewayPatch,
    response: Ok.extend({ gateway: GatewayView }),
    handler: async ({ body, principal, namespaces }) => {
      const { gateway_id: id, ...change } = body
      const isAddress = Object.keys(change).every((key) => key === 'host' || key === 'port')
      // The command line records the address of the local gateway; only users change other fields.
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
    summary: 'Quick setup: an agent, its connectors and what it may do',
    body: SetupBody,
    response: Ok.extend({
      agent_id: z.string(),
      api_key: z.string(),
      gateway_id: z.string(),
      connectors: z.array(z.object({ id: z.string(), type: z.string(), domains: z.array(z.string()) })),
      permissions_created: z.number(),
    }),
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

/** Returns the view. `enforcementLevel` is the level in force, which a floor may have raised. */
function gatewayView(
  row: GatewayRow,
  { liveOf, floorRules, origins }: Omit<ConfigRoutesDeps, 'origins'> & { readonly origins: Origins },
): z.infer<typeof GatewayView> {
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
    created_at: row.createdAt,
  }
}

/**
 * Returns the status of a gateway. `degraded`: it runs, but one of its processes does not have the newest configuration
 * yet.
 */
function statusOf(live: GatewayLive | null): 'stopped' | 'running' | 'degraded' {
  if (live === null) return 'stopped'
  const { applied_version: applied, desired_version: desired } = live
  return applied !== null && applied >= (desired ?? 0) ? 'running' : 'degraded'
}
