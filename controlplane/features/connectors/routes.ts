import * as z from 'zod'
import { exposesCredential, PLAINTEXT_CREDENTIAL } from '../../../core/connectors/credentials/clear-text.ts'
import { PermissionPatternSchema } from '../../../core/crd/action-patterns.ts'
import { ConnectorType, RuleDecisionSchema } from '../../../core/crd/schemas.ts'
import { permissionWarnings } from '../../../core/decision/permissions/permission-warnings.ts'
import { ObjectOrigin } from '../../../core/wire/operator/origin.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { actorOf } from '../../events.ts'
import { AgentName, ConnectorFields, Id, Ok } from '../../http/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { APPROVALS_BOT_WARNING } from '../chat/bot.ts'
import type { Origins } from '../manifests/object-origins.ts'
import { rulesBeside } from '../permissions/rules-beside.ts'
import type { PermissionRow } from '../permissions/store.ts'
import type { Config } from '../settings/configuration.ts'
import { declaredNames } from './declared-names.ts'
import { authOf, connectorWarnings, ownedDomains } from './domains.ts'
import type { ConnectorRow } from './store.ts'

export type ConnectorRoutesDeps = {
  readonly config: Config
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
}

const GatewayRef = z.string().min(1).max(253)
const Listed = z.looseObject({ id: z.string(), origin: ObjectOrigin })
const Agent = z.union([z.literal('*'), AgentName])

/** Extensions: rows can be listed and removed one by one; those of manifests answer 409. */
export function createConnectorRoutes(deps: ConnectorRoutesDeps): readonly Route[] {
  return [...connectors(deps), ...permissions(deps)]
}

function connectors({ config, origins: readOrigins }: ConnectorRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/connectors',
      auth: 'connectors/get',
      isNamespaced: true,
      summary: 'All connectors; credentials are never shown',
      response: z.object({ connectors: z.array(Listed) }),
      handler: async ({ namespaces }) => {
        const [rows, gateways, origins] = await Promise.all([
          config.connectors(namespaces),
          config.gatewayNames(namespaces),
          readOrigins(namespaces),
        ])
        const withheld = await config.approvalsBotConnectors(rows)
        const found = { gateways, origins, withheld }
        return { connectors: rows.map((row) => connectorView(row, found)) }
      },
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/connectors',
      auth: 'credentials/set',
      summary: 'Adds a connector to a gateway, or gives the same one a new token',
      body: z.strictObject({ ...ConnectorFields, gateway: GatewayRef.optional() }),
      response: Ok.extend({ id: z.string(), type: z.string(), domains: z.array(z.string()) }),
      handler: async ({ body, principal }) => {
        const { gateway, ...input } = body
        const { row, domains } = await config.addConnector(actorOf(principal), gateway, input)
        return { ok: true, id: row.id, type: row.type, domains }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/connectors',
      auth: 'connectors/update',
      summary: 'Removes a connector and its credential',
      query: z.strictObject({ connector_id: Id }),
      response: Ok,
      handler: async ({ query, principal }) => {
        await config.removeConnector(actorOf(principal), query.connector_id)
        return { ok: true }
      },
    }),
  ]
}

function permissions({ config, origins: readOrigins }: ConnectorRoutesDeps): readonly Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/dashboard/permissions',
      auth: 'permissions/get',
      isNamespaced: true,
      summary: 'Permissions of one gateway, or of all',
      query: z.strictObject({ gateway: GatewayRef.optional() }),
      statuses: [404],
      response: z.object({ permissions: z.array(Listed) }),
      handler: async ({ namespaces, query }) => {
        const [rows, gateways, connectors, origins] = await Promise.all([
          config.permissions(namespaces, query.gateway),
          config.gatewayNames(namespaces),
          config.connectors(namespaces),
          readOrigins(namespaces),
        ])
        const declared = connectors.flatMap(declaredNames)
        return {
          permissions: rows.map((row) => ({
            ...permissionView(row, { gateways, origins }),
            warnings: permissionWarnings(row, declared, rulesBeside(row, rows)),
          })),
        }
      },
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/permissions',
      auth: 'permissions/update',
      summary: 'Sets a permission: one per gateway, agent, connector type and pattern',
      body: z.strictObject({
        gateway_name: GatewayRef,
        connector_type: ConnectorType,
        action_pattern: PermissionPatternSchema,
        decision: RuleDecisionSchema,
        agent: Agent.default('*'),
      }),
      response: Ok.extend({ id: z.string(), warnings: z.array(z.string()).optional() }),
      handler: async ({ body, principal, namespaces }) => {
        const row = await config.setPermission(actorOf(principal), {
          gateway: body.gateway_name,
          connectorType: body.connector_type,
          actionPattern: body.action_pattern,
          decision: body.decision,
          agent: body.agent,
        })
        const declared = (await config.connectors(namespaces)).flatMap(declaredNames)
        const rows = await config.permissions(namespaces, body.gateway_name)
        const warnings = permissionWarnings(row, declared, rulesBeside(row, rows))
        return { ok: true, id: row.id, ...(warnings.length === 0 ? {} : { warnings }) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/permissions',
      auth: 'permissions/update',
      summary: 'Removes a permission',
      query: z.strictObject({ permission_id: Id }),
      response: Ok,
      handler: async ({ query, principal }) => {
        await config.removePermission(actorOf(principal), query.permission_id)
        return { ok: true }
      },
    }),
  ]
}

type Found = { readonly gateways: ReadonlyMap<string, string>; readonly origins: Origins }

function connectorView(
  row: ConnectorRow,
  { gateways, origins, withheld }: Found & { readonly withheld: ReadonlySet<string> },
): z.infer<typeof Listed> {
  return {
    id: row.id,
    name: row.name,
    type: row.type,
    domains: ownedDomains(row),
    auth_type: authOf(row.spec).type,
    header: authOf(row.spec).header ?? null,
    base_url: row.spec.baseUrl ?? null,
    allow_private_addresses: row.spec.upstream.allowPrivateAddresses,
    allow_plaintext_credential: row.spec.upstream.allowPlaintextCredential ?? false,
    endpoint: row.spec.endpoint ?? null,
    bodies: row.spec.bodies ?? null,
    warnings: warningsOf(row, withheld),
    has_token: row.credential !== null,
    gateways: row.gatewayIds.flatMap((id) => gateways.get(id) ?? []),
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.of('Connector', row),
    created_at: row.createdAt,
  }
}

function warningsOf(row: ConnectorRow, withheld: ReadonlySet<string>): readonly string[] {
  const isExposed = row.credential !== null && exposesCredential({ ...row.spec, auth: authOf(row.spec) })
  return [
    ...connectorWarnings(row.spec),
    ...(withheld.has(row.id) ? [APPROVALS_BOT_WARNING] : []),
    ...(isExposed ? [PLAINTEXT_CREDENTIAL] : []),
  ]
}

function permissionView(row: PermissionRow, { gateways, origins }: Found): z.infer<typeof Listed> {
  return {
    id: row.id,
    gateway_name: gateways.get(row.gatewayId) ?? row.gatewayId,
    agent: row.agent,
    connector_type: row.connectorType,
    action_pattern: row.actionPattern,
    decision: row.decision,
    reason: row.reason,
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.ofPermission(row),
    created_at: row.createdAt,
  }
}
