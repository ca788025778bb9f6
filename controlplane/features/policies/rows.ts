import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

/** Result of one of the tests that the policy itself contains. */
export type PolicyTestResult = {
  readonly name: string
  readonly passed: boolean
  /** Reason of a failed test, `expected ..., got ...`; absent for a passed test. */
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
  /** Ids of the Gateways to which the policy is bound. An empty list means every Gateway. */
  readonly gatewayIds: readonly string[]
  /**
   * Subset of `gatewayIds`: Gateways that no longer admit the policy. At these Gateways, the policy can only deny and
   * hold, and only for agents of its own namespace.
   */
  readonly lostGatewayIds: readonly string[]
  /** The newest accepted text of the policy. The tests of this text may have failed. */
  readonly policyYaml: string
  /** The newest text whose tests passed. This text is in force. Null when no text ever passed. */
  readonly activeYaml: string | null
  readonly version: number
  readonly activeVersion: number | null
  readonly tests: readonly PolicyTestResult[]
  /**
   * Reason for the refusal of a manifest that was never in force. While this field is set, the policy denies all
   * actions in its scope.
   */
  readonly invalid: string | null
  readonly source: Source
  readonly managedBy: string | null
  /** Origin of the row, for example the dashboard; null for a row of a manifest. */
  readonly origin: RowOrigin | null
  readonly createdAt: Date
  readonly updatedAt: Date
}

export const COLUMNS = `id, org_id as "orgId", name, description, enabled, priority, tags, mode, gateway_ids as "gatewayIds",
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

export async function listPoliciesById(q: Query, ids: readonly string[]): Promise<readonly PolicyRow[]> {
  const { rows } = await q.query<PolicyRow>(`select ${COLUMNS} from policies where id = any($1::text[])`, [
    ids,
  ])
  return rows
}

/**
 * Lists the policies whose manifest was refused and that were never in force. Each of these policies denies all
 * actions in its scope.
 */
export async function listInvalidPolicies(q: Query): Promise<readonly Pick<PolicyRow, 'name' | 'source'>[]> {
  const { rows } = await q.query<PolicyRow>('select name, source from policies where invalid is not null', [])
  return rows
}

export async function listPoliciesIn(q: ScopedQuery): Promise<readonly PolicyRow[]> {
  return q.rows<PolicyRow>(
    [],
    (within) =>
      `select ${COLUMNS} from policies where ${within.configuration('policies')} order by priority desc, name, id`,
  )
}

/** Returns the policies of these manifests. Each name is `namespace/name`. */
export async function listManagedPolicies(q: Query, names: readonly string[]): Promise<readonly PolicyRow[]> {
  const { rows } = await q.query<PolicyRow>(
    `select ${COLUMNS} from policies where name = any($1::text[]) and source <> 'api'`,
    [names],
  )
  return rows
}
