import type { RowOrigin } from '../../../core/wire/operator/origin.ts'
import type { Query } from '../../db/query.ts'
import type { Source } from '../../db/rows.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

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

/** Lists policies of manifests that were never in force. Each of them denies all actions in its scope. */
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

/** Returns the policies of these manifests; each name is `namespace/name`. */
export async function listManagedPolicies(q: Query, names: readonly string[]): Promise<readonly PolicyRow[]> {
  const { rows } = await q.query<PolicyRow>(
    `select ${COLUMNS} from policies where name = any($1::text[]) and source <> 'api'`,
    [names],
  )
  return rows
}
