import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Sealed } from '../../crypto/sealed.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { MINTS_SQL } from '../credentials/rows.ts'
import { COLUMNS, type ConnectorRow, withDefaults } from './rows.ts'

/** Input of `upsertConnector`. `credential`: undefined keeps the stored credential, null deletes it. */
export type ConnectorInput = Omit<
  ConnectorRow,
  'credential' | 'lostDomains' | 'origin' | 'createdAt' | 'updatedAt'
> & {
  readonly origin?: RowOrigin | null
  /**
   * Domains of the spec that another connector governs instead of this connector, by the id of the Gateway. Default:
   * none.
   */
  readonly lostDomains?: ConnectorRow['lostDomains']
  readonly credential: Sealed | null | undefined
}

/**
 * Inserts the row, or replaces the row with this id. The caller must choose the id before it encrypts the credential,
 * because the credential is bound to the id.
 */
export async function upsertConnector(q: Query, row: ConnectorInput): Promise<ConnectorRow> {
  const { rows } = await q.query<ConnectorRow>(
    `insert into connectors (id, org_id, name, type, gateway_ids, spec, credential, source, managed_by, origin,
       lost_domains)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $11, $12)
     on conflict (id) do update set name = excluded.name, type = excluded.type, gateway_ids = excluded.gateway_ids,
       spec = excluded.spec, credential = case when $10 then connectors.credential else excluded.credential end,
       source = excluded.source, managed_by = excluded.managed_by, origin = excluded.origin,
       lost_domains = excluded.lost_domains, updated_at = now()
     returning ${COLUMNS}`,
    [
      row.id,
      row.orgId,
      row.name,
      row.type,
      row.gatewayIds,
      JSON.stringify(row.spec),
      row.credential ? JSON.stringify(row.credential) : null,
      row.source,
      row.managedBy,
      row.credential === undefined,
      row.origin ?? null,
      JSON.stringify(row.lostDomains ?? {}),
    ],
  )
  return withDefaults(onlyRow(rows))
}

/**
 * Replaces or deletes the credential of a connector. The caller must encrypt the credential for the id of the
 * connector.
 */
export async function setCredential(q: Query, id: string, credential: Sealed | null): Promise<void> {
  await q.query('update connectors set credential = $2, updated_at = now() where id = $1', [
    id,
    credential === null ? null : JSON.stringify(credential),
  ])
}

/**
 * Deletes the short-lived credentials and the refresh tokens of the listed Connectors that no longer mint: Connectors
 * without a source of short-lived credentials, and Connectors without a stored credential. Must be called in the
 * transaction that writes the Connectors, after the write.
 */
export async function deleteUnminted(q: Query, ids: readonly string[]): Promise<void> {
  await q.query(
    `delete from minted_credentials where connector_id = any($1::text[])
       and connector_id not in (select id from connectors where id = any($1::text[]) and ${MINTS_SQL})`,
    [ids],
  )
}

export async function deleteConnector(q: Query, id: string): Promise<void> {
  await q.query('delete from connectors where id = $1', [id])
}
