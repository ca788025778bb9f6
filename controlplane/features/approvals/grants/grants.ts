import { type PolicyInForce, policyObstacle } from '../../../../core/decision/permissions/grant.ts'
import { readStoredPolicy } from '../../../../core/decision/policies/policy-document.ts'
import type { HeldBy } from '../../../../core/wire/gateway/hold.ts'
import type { Query } from '../../../db/query.ts'
import { listPoliciesById, type PolicyRow } from '../../policies/rows.ts'

/** Restrictions on grants by the policies that hold a request, as these policies are stored now. */
export type HoldingPolicies = {
  /** Reason why the policies permit no grant, as a sentence; null if they permit one. */
  readonly obstacle: string | null
  /** True if every policy has `grants: allowed`, so that a grant needs no right to write permissions. */
  readonly allowsGrants: boolean
}

/** Reads the policies that hold a request, and returns whether they permit a grant. */
export async function holdingPolicies(
  q: Query,
  held: HeldBy,
  platformNamespaces: ReadonlySet<string>,
): Promise<HoldingPolicies> {
  const ids = held.policies.map(({ ref }) => ref.slice(0, ref.lastIndexOf('@')))
  const rows = ids.length === 0 ? [] : await listPoliciesById(q, ids)
  const inForce = rows.map((row) => inForceOf(row, platformNamespaces))
  const obstacle = policyObstacle(held, inForce)
  const allowsGrants = obstacle === null && held.source === 'policy' && rows.every(isAllowing)
  return { obstacle, allowsGrants }
}

function inForceOf(row: PolicyRow, platformNamespaces: ReadonlySet<string>): PolicyInForce {
  const namespace = row.name.slice(0, Math.max(0, row.name.indexOf('/')))
  return {
    ref: row.enabled ? `${row.id}@${row.activeVersion ?? row.version}` : '',
    name: row.name,
    isOfPlatform: row.source === 'kubernetes' && platformNamespaces.has(namespace),
  }
}

function isAllowing({ activeYaml }: PolicyRow): boolean {
  return activeYaml !== null && readStoredPolicy(activeYaml).grants === 'allowed'
}
