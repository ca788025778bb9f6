import { newId } from '../../crypto/ids.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { COLUMNS, type PermissionRow } from './rows.ts'

/*
 * The functions of this file change permissions in the caller's transaction. They record no audit event: the caller
 * records one event for its whole change, for example for a command or for a change set of manifests.
 */

const ROWS_PER_STATEMENT = 1_000

export type PermissionInput = Omit<PermissionRow, 'id' | 'origin' | 'createdAt'> &
  Partial<Pick<PermissionRow, 'origin'>>

/**
 * Inserts or updates the row. The unique key consists of gateway, agent, connector type, action pattern and owner. An
 * update keeps the id.
 */
export async function savePermission(q: Query, row: PermissionInput): Promise<PermissionRow> {
  return onlyRow(await savePermissions(q, [row]))
}

/** Inserts or updates many rows in one statement. Of two rows with the same unique key, the later row is stored. */
export async function savePermissions(
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

/** Deletes the permission. Returns false when the permission does not exist. */
export async function removePermission(q: Query, id: string): Promise<boolean> {
  const { rowCount } = await q.query('delete from permissions where id = $1', [id])
  return rowCount > 0
}

/** Replaces all rows of these Permission manifests, by the column `owner`. Unchanged rows keep their ids. */
export async function replaceOwnedPermissions(
  q: Query,
  byOwner: ReadonlyMap<string, readonly Omit<PermissionInput, 'owner'>[]>,
): Promise<void> {
  const rows = [...byOwner].flatMap(([owner, owned]) => owned.map((row) => ({ ...row, owner })))
  const kept: string[] = []
  for (let at = 0; at < rows.length; at += ROWS_PER_STATEMENT) {
    const stored = await savePermissions(q, rows.slice(at, at + ROWS_PER_STATEMENT))
    kept.push(...stored.map(({ id }) => id))
  }
  await q.query(
    `delete from permissions where owner = any($1::text[])
       and not exists (select from unnest($2::text[]) as kept(id) where kept.id = permissions.id)`,
    [[...byOwner.keys()], kept],
  )
}

function keyOf(row: PermissionInput): string {
  return JSON.stringify([row.gatewayId, row.agent, row.connectorType, row.actionPattern, row.owner ?? ''])
}
