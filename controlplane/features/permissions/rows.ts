import type { RuleDecision } from '../../../core/decision/vocabulary.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type PermissionRow = {
  readonly id: string
  readonly orgId: string
  readonly gatewayId: string
  /** Name of the agent; `*` means all agents. */
  readonly agent: string
  readonly connectorType: string
  readonly actionPattern: string
  readonly decision: RuleDecision
  readonly reason: string | null
  readonly source: Source
  readonly managedBy: string | null
  /** Origin of the row, for example the dashboard; null for a row of a manifest. */
  readonly origin: RowOrigin | null
  /** Manifest that defines the row, as `Permission/namespace/name`; null for a row of the API. */
  readonly owner: string | null
  readonly createdAt: Date
}

export const COLUMNS = `id, org_id as "orgId", gateway_id as "gatewayId", agent, connector_type as "connectorType",
  action_pattern as "actionPattern", decision, reason, source, managed_by as "managedBy", origin, owner,
  created_at as "createdAt"`

export async function listPermissions(q: Query, gatewayId: string): Promise<readonly PermissionRow[]> {
  const { rows } = await q.query<PermissionRow>(
    `select ${COLUMNS} from permissions where gateway_id = $1 order by connector_type, action_pattern, agent, id`,
    [gatewayId],
  )
  return rows
}

export async function listAllPermissions(q: Query): Promise<readonly PermissionRow[]> {
  const { rows } = await q.query<PermissionRow>(
    `select ${COLUMNS} from permissions order by gateway_id, connector_type, action_pattern, agent, id`,
    [],
  )
  return rows
}

/** Lists the rows of cluster manifests in the namespaces, and all other rows whose Gateway is in the namespaces. */
export async function listPermissionsIn(
  q: ScopedQuery,
  gatewayId: string | null,
): Promise<readonly PermissionRow[]> {
  return q.rows<PermissionRow>(
    [gatewayId],
    (within) => `select ${COLUMNS} from permissions where ($1::text is null or gateway_id = $1)
       and case when source = 'kubernetes' then ${within.namespace("split_part(owner, '/', 2)")}
         else exists (select 1 from gateways g where g.id = gateway_id and ${within.name('g.name')}) end
     order by gateway_id, connector_type, action_pattern, agent, id`,
  )
}

export async function getPermission(q: Query, id: string): Promise<PermissionRow | undefined> {
  const { rows } = await q.query<PermissionRow>(`select ${COLUMNS} from permissions where id = $1`, [id])
  return rows[0]
}
