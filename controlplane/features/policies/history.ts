import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { PolicyVersionsReply } from '../../../core/wire/policies.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import { getPolicyIn } from './store.ts'
import { listPolicyVersionsIn } from './version-store.ts'

/** Returns the stored texts of a policy, newest first. Throws `not_found`. */
export type PolicyHistory = (namespaces: Namespaces, policyId: string) => Promise<PolicyVersionsReply>

export function createPolicyHistory({ read }: { readonly read: ScopedReads }): PolicyHistory {
  return async (namespaces, policyId) => {
    const query = read(namespaces)
    const row = await getPolicyIn(query, policyId)
    if (row === undefined)
      throw new ChaperoneError('not_found', {
        detail: `There is no policy ${policyId}. GET /api/dashboard/policies lists the policies.`,
      })
    const versions = await listPolicyVersionsIn(query, policyId)
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
