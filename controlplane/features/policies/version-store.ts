import type { Query } from '../../db/query.ts'
import type { ScopedQuery } from '../../db/scoped-query.ts'

export type PolicyVersionRow = {
  readonly version: number
  readonly policyYaml: string
  readonly passed: boolean
  readonly createdAt: Date
}

const KEPT = 200

/** Stores the current text of the row as a version. A version that is stored already stays unchanged. */
export async function keepPolicyVersion(
  q: Query,
  row: {
    readonly id: string
    readonly version: number
    readonly policyYaml: string
    readonly activeVersion: number | null
  },
): Promise<void> {
  const { rowCount } = await q.query(
    `insert into policy_versions (policy_id, version, policy_yaml, passed) values ($1, $2, $3, $4)
     on conflict do nothing`,
    [row.id, row.version, row.policyYaml, row.activeVersion === row.version],
  )
  if (rowCount === 0 || row.version <= KEPT) return
  await q.query('delete from policy_versions where policy_id = $1 and version <= $2', [
    row.id,
    row.version - KEPT,
  ])
}

/** Lists the stored texts of a policy, newest first. */
export async function listPolicyVersionsIn(
  q: ScopedQuery,
  policyId: string,
): Promise<readonly PolicyVersionRow[]> {
  return q.rows<PolicyVersionRow>(
    [policyId],
    (within) => `select v.version, v.policy_yaml as "policyYaml", v.passed, v.created_at as "createdAt"
     from policy_versions v join policies on policies.id = v.policy_id
     where v.policy_id = $1 and ${within.configuration('policies')} order by v.version desc`,
  )
}
