import { canonicalTarget } from '../../../core/connectors/binding/canonical-target.ts'
import type { Approvals } from '../approvals/service.ts'
import type { Explanation } from './explain.ts'

type Explained = { readonly gatewayId: string; readonly agent: string; readonly explained: Explanation }

/**
 * Returns one line for each grant that may approve a held request. Returns no lines for a request with a decision other
 * than hold, because grants do not change such a decision. The lines name the compared parameters without their values,
 * because the values are on the approval card, which fewer users may read.
 */
export async function grantLines(
  { grantsFor }: Pick<Approvals, 'grantsFor'>,
  { gatewayId, agent, explained }: Explained,
): Promise<readonly string[]> {
  const { action, connector, decision } = explained
  if (decision.verdict !== 'hold' || action === null) return []
  const target = canonicalTarget(action.connector, action.resource) ?? null
  const found = await grantsFor({
    gatewayId,
    agent,
    actionType: action.type,
    connectorName: connector,
    target,
  })
  return found.map(({ id, parameters, isExact, uses, maxUses, expiresAt, heldBy }) => {
    const rules = heldBy.policies.map(({ rule }) => `"${rule}"`).join(', ') || 'the permission'
    const names = Object.keys(parameters)
    const same = names.length === 0 ? [] : [`the request has the approved values of ${names.join(', ')}`]
    const conditions = [...same, ...(isExact ? ['nothing else differs'] : [])]
    const when = conditions.length === 0 ? '' : ` if ${conditions.join(' and ')}`
    return `${'grant'.padEnd(11)} ${id} approves holds of ${rules}${when}: ${maxUses - uses} of ${maxUses} uses left, until ${expiresAt.toISOString()}`
  })
}
