import type { RuleDecision } from '../../../core/decision/vocabulary.ts'
import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import { newId } from '../../crypto/ids.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow, type Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type PermissionRow = {
  readonly id: string
  readonly orgId: string
  readonly gatewayId: string
  /** Name of the agent, or `*` for all agents. */
  readonly agent: string
  readonly connectorType: string
  readonly actionPattern: string
  readonly decision: RuleDecision
  readonly reason: string | null
  readonly source: Source
  readonly managedBy: string | null
  /** Origin of the row; null for a row of a manifest. */
  readonly origin: RowOrigin | null
  /** Manifest that owns the row, `Permission/namespace/name`; null for rows of the API. */
  readonly owner: string | null
  readonly createdAt: Date
}

export type PermissionInput = Omit<PermissionRow, 'id' | 'origin' | 'createdAt'> &
  Partial<Pick<PermissionRow, 'origin'>>

const COLUMNS = `id, org_id as "orgId", gateway_id as "gatewayId", agent, connector_type as "connectorType",
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

/** Lists rows of cluster manifests in the namespaces, and other rows of Gateways in the namespaces. */
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

/** Inserts or updates the row; its key is gateway, agent, connector type, pattern and owner. An update keeps the id. */
export async function upsertPermission(q: Query, row: PermissionInput): Promise<PermissionRow> {
  return onlyRow(await upsertPermissions(q, [row]))
}

/** Upserts many rows in one statement. Of two rows with the same key, the later one is stored. */
export async function upsertPermissions(
  q: Query,
  rows: readonly PermissionInput[],
): Promise<readonly PermissionRow[]> {
  const byKey = new Map(rows.map((row) => [keyOf(row), { ...row, id: newId('permission') }]))
  const { rows: stored } = await q.query<PermissionRow>(
    `insert into permissions (id, org_id, gateway_id, agent, connector_type, action_pattern, decision, reason, source, managed_by, owner, origin)
     select r.id, r."orgId", r."gatewayId", r.agent, r."connectorType", r."actionPattern", r.decision, r.reason,
       r.source, r."managedBy", r.owner, r.origin
     from jsonb_to_recordset($1::jsonb) as r(id text, "orgId" text, "gatewayId" text, agent text,
       "connectorType" text, "actionPattern" text, decision text, reason text, source text, "managedBy" text, owner text, origin text)
     on conflict (gateway_id, agent, connector_type, action_pattern, coalesce(owner, '')) do update
       set decision = excluded.decision, reason = excluded.reason, source = excluded.source,
         managed_by = excluded.managed_by, origin = excluded.origin
     returning ${COLUMNS}`,
    [JSON.stringify([...byKey.values()])],
  )
  return stored
}

export async function deletePermission(q: Query, id: string): Promise<boolean> {
  const { rowCount } = await q.query('delete from permissions where id = $1', [id])
  return rowCount > 0
}

/** Replaces all rows of this manifest; rows that stay keep their ids. Returns the number of removed rows. */
export async function replaceOwnedPermissions(
  q: Query,
  owner: string,
  rows: readonly Omit<PermissionInput, 'owner'>[],
): Promise<number> {
  const kept =
    rows.length === 0
      ? []
      : await upsertPermissions(
          q,
          rows.map((row) => ({ ...row, owner })),
        )
  const { rowCount } = await q.query('delete from permissions where owner = $1 and id <> all($2::text[])', [
    owner,
    kept.map((row) => row.id),
  ])
  return rowCount
}

function keyOf(row: PermissionInput): string {
  return JSON.stringify([row.gatewayId, row.agent, row.connectorType, row.actionPattern, row.owner ?? ''])
}
