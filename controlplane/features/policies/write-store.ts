import type { Query } from '../../db/query.ts'
import { onlyRow } from '../../db/rows.ts'
import { COLUMNS, type PolicyRow } from './rows.ts'
import { keepPolicyVersion } from './version-store.ts'

export type PolicyInput = Omit<PolicyRow, 'createdAt' | 'updatedAt' | 'origin'> &
  Partial<Pick<PolicyRow, 'origin'>>

export type PolicyChanges = Partial<Omit<PolicyInput, 'id' | 'orgId'>>

export async function insertPolicy(q: Query, row: PolicyInput): Promise<PolicyRow> {
  const { rows } = await q.query<PolicyRow>(
    `insert into policies (id, org_id, ${WRITABLE.map((field) => field.column).join(', ')})
     values ($1, $2, ${WRITABLE.map((_, index) => `$${index + 3}`).join(', ')}) returning ${COLUMNS}`,
    [row.id, row.orgId, ...WRITABLE.map((field) => stored(field.name, row[field.name]))],
  )
  const inserted = onlyRow(rows)
  await keepPolicyVersion(q, inserted)
  return inserted
}

/**
 * Updates the given fields. With `expectedVersion`, updates only a row with this version. Returns undefined when the
 * version differs or the policy does not exist.
 */
export async function updatePolicy(
  q: Query,
  id: string,
  changes: PolicyChanges,
  expectedVersion?: number,
): Promise<PolicyRow | undefined> {
  const fields = WRITABLE.filter((field) => changes[field.name] !== undefined)
  const sets = fields.map((field, index) => `${field.column} = $${index + 3}`)
  const { rows } = await q.query<PolicyRow>(
    `update policies set ${[...sets, 'updated_at = now()'].join(', ')}
     where id = $1 and ($2::integer is null or version = $2) returning ${COLUMNS}`,
    [id, expectedVersion ?? null, ...fields.map((field) => stored(field.name, changes[field.name]))],
  )
  const [updated] = rows
  if (updated !== undefined && changes.version !== undefined) await keepPolicyVersion(q, updated)
  return updated
}

export async function deletePolicy(q: Query, id: string): Promise<boolean> {
  const { rowCount } = await q.query('delete from policies where id = $1', [id])
  return rowCount > 0
}

const WRITABLE = [
  { name: 'name', column: 'name' },
  { name: 'description', column: 'description' },
  { name: 'enabled', column: 'enabled' },
  { name: 'priority', column: 'priority' },
  { name: 'tags', column: 'tags' },
  { name: 'mode', column: 'mode' },
  { name: 'gatewayIds', column: 'gateway_ids' },
  { name: 'lostGatewayIds', column: 'lost_gateway_ids' },
  { name: 'policyYaml', column: 'policy_yaml' },
  { name: 'activeYaml', column: 'active_yaml' },
  { name: 'version', column: 'version' },
  { name: 'activeVersion', column: 'active_version' },
  { name: 'tests', column: 'tests' },
  { name: 'invalid', column: 'invalid' },
  { name: 'source', column: 'source' },
  { name: 'managedBy', column: 'managed_by' },
  { name: 'origin', column: 'origin' },
] as const satisfies readonly { name: keyof PolicyChanges; column: string }[]

function stored(name: string, value: unknown): unknown {
  return name === 'tests' ? JSON.stringify(value) : value
}
