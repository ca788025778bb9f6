import { newId } from '../crypto/ids.ts'
import type { Query } from './query.ts'
import { onlyRow } from './rows.ts'

export type OrgRow = {
  readonly id: string
  readonly name: string
  readonly plan: string
  /** Retention of audit events in days for the plan Enterprise; null means unlimited. */
  readonly auditRetentionDays: number | null
  readonly createdAt: Date
}

/**
 * Returns the only organisation of the installation. Inserts the organisation if it is missing; `created` is true for
 * exactly one caller.
 */
export async function ensureOrg(
  q: Query,
  name = 'Chaperone',
): Promise<OrgRow & { readonly created: boolean }> {
  const { rowCount } = await q.query(
    'insert into orgs (id, name) values ($1, $2) on conflict ((true)) do nothing',
    [newId('org'), name],
  )
  return { ...(await getOrg(q)), created: rowCount === 1 }
}

/**
 * Makes an owner link mandatory for the registration of the first owner. Returns true only for the call that changes
 * this setting.
 */
export async function requireOwnerLink(q: Query): Promise<boolean> {
  const { rowCount } = await q.query(
    'update orgs set owner_link_required_at = now() where owner_link_required_at is null',
    [],
  )
  return rowCount === 1
}

export async function isOwnerLinkRequired(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ required: boolean }>(
    'select owner_link_required_at is not null as required from orgs',
    [],
  )
  return onlyRow(rows).required
}

/**
 * Records that an administrator has signed in. From then on, the owner's token of a cluster is disabled by default.
 * Returns true for the call that recorded the sign-in.
 */
export async function setAdministered(q: Query): Promise<boolean> {
  const { rowCount } = await q.query(
    'update orgs set administered_at = now() where administered_at is null',
    [],
  )
  return rowCount === 1
}

export async function isAdministered(q: Query): Promise<boolean> {
  const { rows } = await q.query<{ administered: boolean }>(
    'select administered_at is not null as administered from orgs',
    [],
  )
  return onlyRow(rows).administered
}

export async function getOrg(q: Query): Promise<OrgRow> {
  const { rows } = await q.query<OrgRow>(
    `select id, name, plan, audit_retention_days as "auditRetentionDays", created_at as "createdAt" from orgs`,
    [],
  )
  return onlyRow(rows)
}
