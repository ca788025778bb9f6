import { ChaperoneError } from '../../core/errors.ts'
import type { PolicyVersionsReply } from '../../core/wire/governance.ts'
import { getPolicy } from '../store/policies.ts'
import { listPolicyVersions } from '../store/policy-versions.ts'
import type { Db } from '../store/query.ts'

/** The texts that a policy had, newest first. Throws `not_found`. */
export type PolicyHistory = (policyId: string) => Promise<PolicyVersionsReply>

export function createPolicyHistory({ db }: { readonly db: Db }): PolicyHistory {
  return async (policyId) => {
    const row = await getPolicy(db, policyId)
    if (row === undefined)
      throw new ChaperoneError('not_found', {
        detail: `There is no policy ${policyId}: see GET /api/dashboard/policies`,
      })
    const versions = await listPolicyVersions(db, policyId)
    return {
      policy_id: policyId,
      versions: versions.map(({ version, policyYaml, passed, createdAt }) => ({
        version,
        policyYaml,
        passed,
        created_at: createdAt.toISOString(),
      })),
    }
  }
}
