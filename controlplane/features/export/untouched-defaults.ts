import { DEFAULT_POLICIES } from '../../../core/decision/policies/default-policies.ts'
import type { Query } from '../../db/query.ts'
import { isDemoAgent, listAgents } from '../agents/rows.ts'
import { listPolicies, type PolicyRow } from '../policies/rows.ts'

/**
 * Returns the default policies if none of them was edited, no other policy exists, and no agent except the built-in
 * agent exists. Otherwise returns an empty list.
 */
export async function untouchedDefaults(q: Query): Promise<readonly PolicyRow[]> {
  const policies = await listPolicies(q)
  if (!policies.every(isUntouched)) return []
  return (await listAgents(q)).every(isDemoAgent) ? policies : []
}

function isUntouched({ name, policyYaml, priority, enabled, mode, version }: PolicyRow): boolean {
  const made = DEFAULT_POLICIES.find((policy) => policy.name === name)
  const isSame = made?.policyYaml === policyYaml && made.priority === priority
  return isSame && enabled && mode === 'enforce' && version === 1
}
