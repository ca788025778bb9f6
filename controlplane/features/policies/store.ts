import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import { onlyRow, type Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'
import { keepPolicyVersion } from './version-store.ts'

/** Result of one of a policy's own tests. */
export type PolicyTestResult = {
  readonly name: string
  readonly passed: boolean
  /** Failure of the test: `expected …, got …`; absent for a test that passed. */
  readonly failure?: string
}

export type PolicyRow = {
  readonly id: string
  readonly orgId: string
  readonly name: string
  readonly description: string
  readonly enabled: boolean
  readonly priority: number
  readonly tags: readonly string[]
  readonly mode: 'enforce' | 'monitor'
  /** Ids of the Gateways that the policy is bound to. Empty = every Gateway. */
  readonly gatewayIds: readonly string[]
  /**
   * Those of `gatewayIds` that no longer admit the policy: only its denies and holds apply there, for agents of its
   * namespace.
   */
  readonly lostGatewayIds: readonly string[]
  /** The newest accepted text of the policy, even if its tests failed. */
  readonly policyYaml: string
  /** The newest text whose tests passed, which is in force. Null = there was none. */
  readonly activeYaml: string | null
  readonly version: number
  readonly activeVersion: number | null
  readonly tests: readonly PolicyTestResult[]
  /**
   * Reason why a manifest that was never in force was refused; the policy then denies its scope. Null = nothing is
   * denied.
   */
  readonly invalid: string | null
  readonly source: Source
  readonly managedBy: string | null
  /** Origin of the row; null for a row of a manifest. */
  readonly origin: RowOrigin | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export type PolicyInput = Omit<PolicyRow, 'createdAt' | 'updatedAt' | 'origin'> &
  Partial<Pick<PolicyRow, 'origin'>>
export type PolicyChanges = Partial<Omit<PolicyInput, 'id' | 'orgId'>>

const COLUMNS = `id, org_id as "orgId", name, description, enabled, priority, tags, mode, gateway_ids as "gatewayIds",
  lost_gateway_ids as "lostGatewayIds",
  policy_yaml as "policyYaml", active_yaml as "activeYaml", version, active_version as "activeVersion", tests, invalid, source,
  managed_by as "managedBy", origin, created_at as "createdAt", updated_at as "updatedAt"`

/** Lists all policies, highest priority first, then by name. */
export async function listPolicies(q: Query): Promise<readonly PolicyRow[]> {
  const { rows } = await q.query<PolicyRow>(
    `select ${COLUMNS} from policies order by priority desc, name, id`,
    [],
  )
  return rows
}

/** Lists policies of manifests that were never in force. Each of them denies all actions in its scope. */
export async function listInvalidPolicies(q: Query): Promise<readonly Pick<PolicyRow, 'name' | 'source'>[]> {
  const { rows } = await q.query<PolicyRow>('select name, source from policies where invalid is not null', [])
  return rows
}

export async function countPolicies(q: Query): Promise<number> {
  const { rows } = await q.query<{ count: number }>('select count(*) as count from policies', [])
  return onlyRow(rows).count
}

export async function listPoliciesIn(q: ScopedQuery): Promise<readonly PolicyRow[]> {
  return q.rows<PolicyRow>(
    [],
    (within) =>
      `select ${COLUMNS} from policies where ${within.configuration('policies')} order by priority desc, name, id`,
  )
}

export async function getPolicyIn(q: ScopedQuery, id: string): Promise<PolicyRow | undefined> {
  const select = `select ${COLUMNS} from policies where id = $1`
  return (await q.rows<PolicyRow>([id], (within) => `${select} and ${within.configuration('policies')}`))[0]
}

/** Returns the policy of one manifest; `name` is `namespace/name`. */
export async function findManagedPolicy(q: Query, name: string): Promise<PolicyRow | undefined> {
  const { rows } = await q.query<PolicyRow>(
    `select ${COLUMNS} from policies where name = $1 and source <> 'api'`,
    [name],
  )
  return rows[0]
}

/** Locks the row until the transaction ends, which serializes changes of one policy. */
export async function lockPolicy(q: Query, id: string): Promise<PolicyRow | undefined> {
  const { rows } = await q.query<PolicyRow>(`select ${COLUMNS} from policies where id = $1 for update`, [id])
  return rows[0]
}

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
 * Writes the given fields. With `expectedVersion` only when the row has that version; undefined = the version differs
 * or the policy does not exist.
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
