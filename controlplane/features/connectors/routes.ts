import { exposesCredential, PLAINTEXT_CREDENTIAL } from '../../../core/connectors/credentials/clear-text.ts'
import { permissionWarnings } from '../../../core/decision/permissions/permission-warnings.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import {
  AddConnectorBody,
  AddConnectorReply,
  ConnectorList,
  type ConnectorView,
  RemoveConnectorQuery,
} from '../../../core/wire/connectors.ts'
import {
  PermissionList,
  PermissionsQuery,
  type PermissionView,
  RemovePermissionQuery,
  SetPermissionBody,
  SetPermissionReply,
} from '../../../core/wire/permissions.ts'
import { Ok } from '../../../core/wire/schema/fields.ts'
import { type Route, route } from '../../http/route.ts'
import { actorOf } from '../audit/actor.ts'
import { APPROVALS_BOT_WARNING } from '../chat/bot/bot.ts'
import type { MintedRow } from '../credentials/rows.ts'
import { credentialSource, mintedView, sourceText } from '../credentials/source.ts'
import type { Origins } from '../manifests/object-origins.ts'
import type { PermissionRow } from '../permissions/rows.ts'
import { rulesBeside } from '../permissions/rules-beside.ts'
import type { Config } from '../settings/configuration.ts'
import { authOf, connectorWarnings, declaredNames, ownedDomains } from './domains.ts'
import type { ConnectorRow } from './rows.ts'

export type ConnectorRoutesDeps = {
  readonly config: Config
  readonly origins: (namespaces: Namespaces) => Promise<Origins>
}

/**
 * Returns the routes that list rows of the configuration and delete single rows. These routes extend the v1 API.
 * Deletion of a row that a manifest declares returns 409.
 */
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
      summary: 'Lists all connectors, without credentials',
      response: ConnectorList,
      handler: async ({ namespaces }) => {
        const [rows, gateways, origins, minted] = await Promise.all([
          config.connectors(namespaces),
          config.gatewayNames(namespaces),
          readOrigins(namespaces),
          config.minted(),
        ])
        const withheld = await config.approvalsBotConnectors(rows)
        const found = { gateways, origins, withheld, minted }
        return { connectors: rows.map((row) => connectorView(row, found)) }
      },
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/connectors',
      auth: 'credentials/set',
      summary:
        'Adds a connector to a gateway; if one with the same type and hosts exists, replaces its credential instead',
      body: AddConnectorBody,
      response: AddConnectorReply,
      handler: async ({ body, principal }) => {
        const { gateway, ...input } = body
        const { row, domains } = await config.addConnector(actorOf(principal), gateway, input)
        return { ok: true as const, id: row.id, type: row.type, domains }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/connectors',
      auth: 'connectors/update',
      summary: 'Removes a connector and its credential',
      query: RemoveConnectorQuery,
      response: Ok,
      handler: async ({ query, principal }) => {
        await config.removeConnector(actorOf(principal), query.connector_id)
        return { ok: true as const }
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
      summary: 'Lists the permissions of one gateway, or of all',
      query: PermissionsQuery,
      statuses: [404],
      response: PermissionList,
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
            warnings: [...permissionWarnings(row, declared, rulesBeside(row, rows))],
          })),
        }
      },
    }),
    route({
      method: 'POST',
      path: '/api/dashboard/permissions',
      auth: 'permissions/update',
      summary: 'Sets a permission: one per gateway, agent, connector type and pattern',
      body: SetPermissionBody,
      response: SetPermissionReply,
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
        return { ok: true as const, id: row.id, ...(warnings.length === 0 ? {} : { warnings }) }
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/dashboard/permissions',
      auth: 'permissions/update',
      summary: 'Removes a permission',
      query: RemovePermissionQuery,
      response: Ok,
      handler: async ({ query, principal }) => {
        await config.removePermission(actorOf(principal), query.permission_id)
        return { ok: true as const }
      },
    }),
  ]
}

type Credentials = {
  /** Ids of the connectors whose credential gateways do not receive. */
  readonly withheld: ReadonlySet<string>
  readonly minted: ReadonlyMap<string, MintedRow>
}
type Found = { readonly gateways: ReadonlyMap<string, string>; readonly origins: Origins }

function connectorView(
  row: ConnectorRow,
  { gateways, origins, withheld, minted }: Found & Credentials,
): ConnectorView {
  return {
    id: row.id,
    name: row.name,
    type: row.spec.type,
    domains: [...ownedDomains(row)],
    auth_type: authOf(row.spec).type,
    header: authOf(row.spec).header ?? null,
    base_url: row.spec.baseUrl ?? null,
    allow_private_addresses: row.spec.upstream.allowPrivateAddresses,
    allow_plaintext_credential: row.spec.upstream.allowPlaintextCredential ?? false,
    endpoint: row.spec.endpoint === undefined ? null : [...row.spec.endpoint],
    bodies: row.spec.bodies === 'opaque' ? row.spec.bodies : null,
    warnings: [...warningsOf(row, { withheld, minted })],
    has_token: row.credential !== null,
    credential: credentialSource(row),
    minted: mintedView(row, minted.get(row.id)),
    gateways: row.gatewayIds.flatMap((id) => gateways.get(id) ?? []),
    source: row.source,
    managed_by: row.managedBy,
    origin: origins.of('Connector', row),
    created_at: row.createdAt.toISOString(),
  }
}

function warningsOf(row: ConnectorRow, { withheld, minted }: Credentials): readonly string[] {
  const failure = mintedView(row, minted.get(row.id))?.error ?? null
  const isExposed = row.credential !== null && exposesCredential({ ...row.spec, auth: authOf(row.spec) })
  return [
    ...connectorWarnings(row.spec),
    ...(withheld.has(row.id) ? [APPROVALS_BOT_WARNING] : []),
    ...(isExposed ? [PLAINTEXT_CREDENTIAL] : []),
    ...(failure === null
      ? []
      : [`The credential from ${sourceText(credentialSource(row))} could not be refreshed. ${failure}`]),
  ]
}

function permissionView(row: PermissionRow, { gateways, origins }: Found): Omit<PermissionView, 'warnings'> {
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
    created_at: row.createdAt.toISOString(),
  }
}
