import type * as z from 'zod'
import type { ConnectorType } from '../../../core/crd/connector-fields.ts'
import type { EnforcementLevelSchema } from '../../../core/crd/gateway/gateway-fields.ts'
import type { GatewaySpec } from '../../../core/crd/gateway/gateway-spec.ts'
import type { RuleDecision } from '../../../core/decision/vocabulary.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import { bumpVersion } from '../../db/config-version.ts'
import type { Db, Query } from '../../db/query.ts'
import { createScopedQuery } from '../../db/scoped-query.ts'
import { type Actor, originOf } from '../audit/actor.ts'
import { recordEvent } from '../audit/events.ts'
import { type ApprovalsBotDeps, approvalsBotConnectors } from '../chat/bot/bot.ts'
import type { NewConnector } from '../connectors/new-connector.ts'
import { type ConnectorRow, getConnector, listConnectorsIn } from '../connectors/rows.ts'
import { type Placed, placeConnector, removeConnector } from '../connectors/service.ts'
import { listMinted, type MintedRow } from '../credentials/rows.ts'
import { defaultGateway, requireGateway, requireGatewayIn } from '../gateways/names.ts'
import { type GatewayRow, gatewayNamesIn, listGatewaysIn, lockGateway } from '../gateways/rows.ts'
import { saveGateway } from '../gateways/service.ts'
import { refuseManaged } from '../manifests/managed.ts'
import { getPermission, listPermissions, listPermissionsIn, type PermissionRow } from '../permissions/rows.ts'
import { removePermission, savePermission } from '../permissions/service.ts'
import { readSetting } from './rows.ts'

export type ConfigDeps = { readonly db: Db } & ApprovalsBotDeps

export type GatewayChange = {
  readonly name?: string | undefined
  readonly host?: string | undefined
  readonly port?: number | undefined
  readonly enforcementLevel?: z.infer<typeof EnforcementLevelSchema> | undefined
  /** Reason for the change. The audit event contains the reason. */
  readonly reason?: string | undefined
}

export type NewPermission = {
  readonly gateway: string
  readonly connectorType: z.infer<typeof ConnectorType>
  readonly actionPattern: string
  readonly decision: RuleDecision
  readonly agent: string
}

/** Reads and changes gateways, connectors and permissions for users. */
export type Config = {
  gateways(namespaces: Namespaces): Promise<readonly GatewayRow[]>
  /**
   * Returns the names of gateways by id: gateways in the namespaces, and other gateways that objects of the namespaces
   * reference.
   */
  gatewayNames(namespaces: Namespaces): Promise<ReadonlyMap<string, string>>
  /** Finds a gateway by its id, by its full name, or by its name in the namespace `default`. Throws `not_found`. */
  gatewayNamed(nameOrId: string): Promise<GatewayRow>
  changeGateway(by: Actor, id: string, change: GatewayChange): Promise<GatewayRow>
  connectors(namespaces: Namespaces): Promise<readonly ConnectorRow[]>
  /**
   * Returns the ids of connectors whose credential is the token of the bot that posts approval cards. Gateways do not
   * get this credential.
   */
  approvalsBotConnectors(rows: readonly ConnectorRow[]): Promise<ReadonlySet<string>>
  /** Returns the states of short-lived credentials, by the id of the connector. */
  minted(): Promise<ReadonlyMap<string, MintedRow>>
  /** Adds a connector to a gateway; default: the local gateway. */
  addConnector(by: Actor, gateway: string | undefined, input: NewConnector): Promise<Placed>
  removeConnector(by: Actor, id: string): Promise<void>
  /** Lists the permissions of one gateway, or of all gateways. Throws `not_found` for an unknown gateway. */
  permissions(namespaces: Namespaces, gateway: string | undefined): Promise<readonly PermissionRow[]>
  setPermission(by: Actor, input: NewPermission): Promise<PermissionRow>
  removePermission(by: Actor, id: string): Promise<void>
}

export function createConfig(deps: ConfigDeps): Config {
  const { db, orgId } = deps
  const read = (namespaces: Namespaces) => createScopedQuery(db, namespaces)
  return {
    gateways: (namespaces) => listGatewaysIn(read(namespaces)),
    gatewayNames: (namespaces) => gatewayNamesIn(read(namespaces)),
    gatewayNamed: (nameOrId) => requireGateway(db, nameOrId),
    changeGateway: (by, id, change) => db.tx((q) => changeGateway(q, { by, id, change })),
    connectors: (namespaces) => listConnectorsIn(read(namespaces)),
    minted: () => listMinted(db),
    approvalsBotConnectors: async (rows) =>
      approvalsBotConnectors(db, deps.keyring, {
        rows,
        botToken: await readSetting(db, deps, 'chat_bot_token'),
      }),
    addConnector: (by, gateway, input) =>
      db.tx(async (q) => {
        const target = await gatewayFor(q, gateway)
        const placed = await placeConnector(q, { ...deps, gatewayId: target.id, input, origin: originOf(by) })
        await noteConnector(q, { orgId, by, gateway: target.name }, placed)
        await bumpVersion(q)
        return placed
      }),
    removeConnector: (by, id) =>
      db.tx(async (q) => {
        const row = await getConnector(q, id)
        if (row === undefined) throw notFound('connector', id)
        refuseManaged(q, row)
        await removeConnector(q, id)
        await noteChange(
          q,
          { orgId, by },
          { change: 'connector.removed', connector: row.name, type: row.type },
        )
      }),
    permissions: async (namespaces, gateway) => {
      const query = read(namespaces)
      const gatewayId = gateway === undefined ? null : (await requireGatewayIn(query, gateway)).id
      return listPermissionsIn(query, gatewayId)
    },
    setPermission: (by, input) => db.tx((q) => setPermission(q, { by, orgId, input })),
    removePermission: (by, id) =>
      db.tx(async (q) => {
        const row = await getPermission(q, id)
        if (row === undefined) throw notFound('permission', id)
        refuseManaged(q, row)
        await removePermission(q, id)
        await noteChange(q, { orgId, by }, { change: 'permission.removed', ...permissionFacts(row) })
      }),
  }
}

/** Writes the audit event of a connector that was added or whose credential was replaced. */
export async function noteConnector(
  q: Query,
  context: { readonly orgId: string; readonly by: Actor; readonly gateway: string },
  { row, isNew, domains }: Placed,
): Promise<void> {
  const change = isNew ? 'connector.added' : 'connector.updated'
  const details = { change, gateway: context.gateway, connector: row.name, type: row.type, domains }
  await recordEvent(q, { orgId: context.orgId, actor: context.by, type: 'gateway.updated', details })
}

async function noteChange(
  q: Query,
  { orgId, by }: { readonly orgId: string; readonly by: Actor },
  details: Readonly<Record<string, unknown>>,
): Promise<void> {
  await recordEvent(q, { orgId, actor: by, type: 'gateway.updated', details })
  await bumpVersion(q)
}

async function changeGateway(
  q: Query,
  { by, id, change }: { readonly by: Actor; readonly id: string; readonly change: GatewayChange },
): Promise<GatewayRow> {
  const row = await lockGateway(q, id)
  if (row === undefined) throw notFound('gateway', id)
  const { reason, enforcementLevel, ...fields } = change
  const spec: GatewaySpec = { ...row.spec, enforcementLevel: enforcementLevel ?? row.spec.enforcementLevel }
  const wanted = { ...row, ...given(fields), spec }
  const changed = (['name', 'host', 'port'] as const).filter((field) => wanted[field] !== row[field])
  const isLevel = spec.enforcementLevel !== row.spec.enforcementLevel
  if (changed.length === 0 && !isLevel) return row
  // Manifests contain no address, because the gateway process reports the address on which it listens. A change of
  // the address is therefore not an edit of a manifest.
  const isOfManifest = isLevel || changed.includes('name')
  if (isOfManifest) refuseManaged(q, row)
  const level = isLevel ? { level: spec.enforcementLevel, previous: row.spec.enforcementLevel } : {}
  const details = {
    change: isLevel ? 'enforcement' : 'gateway',
    gateway: row.name,
    fields: changed,
    ...level,
    reason: reason ?? null,
  }
  const event = { actor: by, type: 'gateway.updated', details } as const
  const saved = await saveGateway(q, isOfManifest ? { ...wanted, origin: originOf(by) } : wanted, event)
  await bumpVersion(q)
  return saved
}

async function setPermission(
  q: Query,
  { by, orgId, input }: { readonly by: Actor; readonly orgId: string; readonly input: NewPermission },
): Promise<PermissionRow> {
  const gateway = await requireGateway(q, input.gateway)
  const { agent, connectorType, actionPattern, decision } = input
  const rows = await listPermissions(q, gateway.id)
  const same = rows.filter(
    (row) =>
      row.agent === agent && row.connectorType === connectorType && row.actionPattern === actionPattern,
  )
  for (const row of same) refuseManaged(q, row)
  const row = await savePermission(q, {
    orgId,
    gatewayId: gateway.id,
    agent,
    connectorType,
    actionPattern,
    decision,
    reason: null,
    ...ownership(same, by),
  })
  await noteChange(
    q,
    { orgId, by },
    { change: 'permission.set', gateway: gateway.name, ...permissionFacts(row) },
  )
  return row
}

/**
 * Returns the columns `source`, `managedBy`, `origin` and `owner` of the new row. For a row of a manifest, returns the
 * stored values. The editing guard (see `createEditingGuard`) can then refuse the edit and return the changed manifest.
 */
function ownership(same: readonly PermissionRow[], by: Actor) {
  const managed = same.find(({ source }) => source !== 'api')
  if (managed === undefined)
    return { source: 'api' as const, managedBy: null, origin: originOf(by), owner: null }
  const { source, managedBy, owner } = managed
  return { source, managedBy, origin: null, owner }
}

async function gatewayFor(q: Query, nameOrId: string | undefined): Promise<GatewayRow> {
  if (nameOrId !== undefined) return requireGateway(q, nameOrId)
  const local = await defaultGateway(q)
  if (local !== undefined) return local
  throw new ChaperoneError('validation', {
    detail:
      'gateway: is required, because this installation has no gateway on this machine, which would be the default; name one of GET /api/dashboard/gateway',
    extra: { details: 'gateway: is required' },
  })
}

function permissionFacts(row: PermissionRow): Readonly<Record<string, unknown>> {
  const { connectorType, actionPattern, agent, decision } = row
  return { connector_type: connectorType, action_pattern: actionPattern, agent, decision }
}

function given<T extends object>(fields: T): { [K in keyof T]: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(entries) as { [K in keyof T]: Exclude<T[K], undefined> }
}

function notFound(kind: 'gateway' | 'connector' | 'permission', id: string): ChaperoneError {
  return new ChaperoneError('not_found', {
    detail: `There is no ${kind} ${id}. GET /api/dashboard/${kind === 'gateway' ? kind : `${kind}s`} lists every ${kind}.`,
  })
}
