import { ConnectorSpec } from '../../../core/crd/connector-spec.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type ConnectorRow = {
  readonly id: string
  readonly orgId: string
  /**
   * Name of the connector. A connector of a manifest has the name `namespace/name`; any other connector has its type as
   * name, made unique by a suffix.
   */
  readonly name: string
  readonly type: string
  /** Ids of the gateways that the connector serves; empty when it serves every gateway of the installation. */
  readonly gatewayIds: readonly string[]
  /**
   * Domains of the spec that another connector governs instead of this connector, by the id of the Gateway. The domains
   * are in lower case.
   */
  readonly lostDomains: Readonly<Record<string, readonly string[]>>
  readonly spec: ConnectorSpec
  /** Stored credential, encrypted and bound to the id of the row; null when the connector has no credential. */
  readonly credential: Sealed | null
  readonly source: Source
  readonly managedBy: string | null
  /** Origin of the row: `dashboard`, `command_line` or `built_in`. Null for a row of a manifest. */
  readonly origin: RowOrigin | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const COLUMNS = `id, org_id as "orgId", name, type, gateway_ids as "gatewayIds",
  lost_domains as "lostDomains", spec, credential, source,
  managed_by as "managedBy", origin, created_at as "createdAt", updated_at as "updatedAt"`

/**
 * SQL order of connectors that claim the same host: connectors with a credential first, then connectors of manifests
 * before those of the API. A connector may be without a credential because the Secret that its manifest names does not
 * exist yet.
 */
const ORDER = "(credential is null), (source = 'api'), name"

/**
 * Returns the connectors that serve the gateway, including those that serve every gateway. Returns all connectors when
 * no gateway is given.
 */
export async function listConnectors(q: Query, gatewayId?: string): Promise<readonly ConnectorRow[]> {
  const { rows } =
    gatewayId === undefined
      ? await q.query<ConnectorRow>(`select ${COLUMNS} from connectors order by ${ORDER}`, [])
      : await q.query<ConnectorRow>(
          `select ${COLUMNS} from connectors where gateway_ids = '{}' or $1 = any(gateway_ids) order by ${ORDER}`,
          [gatewayId],
        )
  return rows.map(withDefaults)
}

/** Returns the connectors that serve at least one of these gateways. */
export async function listConnectorsAt(
  q: Query,
  gatewayIds: readonly string[],
): Promise<readonly ConnectorRow[]> {
  const { rows } = await q.query<ConnectorRow>(
    `select ${COLUMNS} from connectors where gateway_ids && $1::text[]
     union all select ${COLUMNS} from connectors where gateway_ids = '{}'`,
    [gatewayIds],
  )
  return rows.map(withDefaults)
}

export async function listConnectorsByName(
  q: Query,
  names: readonly string[],
): Promise<readonly ConnectorRow[]> {
  const { rows } = await q.query<ConnectorRow>(
    `select ${COLUMNS} from connectors where name = any($1::text[])`,
    [names],
  )
  return rows.map(withDefaults)
}

/** Returns the names of the actions that Connectors declare in their specs. */
export async function listDeclaredActions(q: Query): Promise<readonly string[]> {
  const { rows } = await q.query<{ action: string }>(
    `select distinct declared ->> 'action' as action
     from connectors c, jsonb_array_elements(c.spec -> 'actions') as declared
     where c.spec -> 'actions' <> '[]' order by 1`,
    [],
  )
  return rows.map(({ action }) => action)
}

export async function listConnectorsIn(q: ScopedQuery): Promise<readonly ConnectorRow[]> {
  const rows = await q.rows<ConnectorRow>(
    [],
    (within) =>
      `select ${COLUMNS} from connectors where ${within.configuration('connectors')} order by ${ORDER}`,
  )
  return rows.map(withDefaults)
}

export async function getConnector(q: Query, id: string): Promise<ConnectorRow | undefined> {
  const { rows } = await q.query<ConnectorRow>(`select ${COLUMNS} from connectors where id = $1`, [id])
  return rows.map(withDefaults)[0]
}

export function withDefaults(row: ConnectorRow): ConnectorRow {
  return { ...row, spec: ConnectorSpec.parse(row.spec) }
}

/** Returns the names of all connectors, grouped by connector type. */
export async function listConnectorNames(q: Query): Promise<ReadonlyMap<string, string[]>> {
  const { rows } = await q.query<{ type: string; names: string[] }>(
    'select type, array_agg(name order by name) as names from connectors group by type',
    [],
  )
  return new Map(rows.map(({ type, names }) => [type, names]))
}

/** Lists the Connectors of manifest files in force that name this credential of the encrypted store. */
export async function listWithStoredCredential(
  q: Query,
  name: string,
): Promise<ReadonlyArray<Pick<ConnectorRow, 'id' | 'credential'>>> {
  const { rows } = await q.query<Pick<ConnectorRow, 'id' | 'credential'>>(
    `select id, credential from connectors where source = 'file' and spec #>> '{credential,vault}' = $1`,
    [name],
  )
  return rows
}
