import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { COLUMNS, type GatewayRow, withDefaults } from './rows.ts'

/** Input of `upsertGateway`. An absent token leaves the stored token unchanged. */
export type GatewayInput = Pick<GatewayRow, 'id' | 'orgId' | 'name' | 'spec' | 'source' | 'managedBy'> &
  Partial<Pick<GatewayRow, 'host' | 'port' | 'tokenSha256' | 'syncKey' | 'origin'>>

/**
 * Inserts the row, or replaces the row with this id. Absent values of host, port and token leave the stored values
 * unchanged.
 */
export async function upsertGateway(q: Query, row: GatewayInput): Promise<GatewayRow> {
  const { rows } = await q.query<GatewayRow>(
    `insert into gateways (id, org_id, name, host, port, spec, token_sha256, sync_key, source, managed_by, origin)
     values ($1, $2, $3, coalesce($4, '127.0.0.1'), coalesce($5, 9443), $6, $7, $8, $9, $10, $11)
     on conflict (id) do update set name = excluded.name, host = coalesce($4, gateways.host),
       port = coalesce($5, gateways.port), spec = excluded.spec,
       token_sha256 = coalesce(excluded.token_sha256, gateways.token_sha256),
       sync_key = coalesce(excluded.sync_key, gateways.sync_key),
       source = excluded.source, managed_by = excluded.managed_by, origin = excluded.origin
     returning ${COLUMNS}`,
    [
      row.id,
      row.orgId,
      row.name,
      row.host ?? null,
      row.port ?? null,
      JSON.stringify(row.spec),
      row.tokenSha256 ?? null,
      row.syncKey ?? null,
      row.source,
      row.managedBy,
      row.origin ?? null,
    ],
  )
  return withDefaults(onlyRow(rows))
}

/** Deletes the gateway and its permissions. */
export async function deleteGateway(q: Query, id: string): Promise<void> {
  await q.query('delete from gateways where id = $1', [id])
}
