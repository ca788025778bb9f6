import type { ActionSpec } from '../../../core/action/spec.ts'
import { ChaperoneError } from '../../../core/errors.ts'
import type { Namespaces } from '../../../core/wire/access/rights.ts'
import type { DryRunReply } from '../../../core/wire/v1.ts'
import type { ScopedReads } from '../../db/scoped-query.ts'
import type { Actions } from '../actions/service.ts'
import { findAgentIn } from '../agents/rows.ts'

/**
 * Returns the decision that a submission of this action by the named agent would get. Stores nothing. Throws
 * `not_found` when the agent does not exist.
 */
export type DryRun = (namespaces: Namespaces, agentName: string, spec: ActionSpec) => Promise<DryRunReply>

export function createDryRun(deps: {
  readonly read: ScopedReads
  readonly actions: Pick<Actions, 'dryRun'>
}): DryRun {
  return async (namespaces, agentName, spec) => {
    const agent = await findAgentIn(deps.read(namespaces), agentName)
    if (agent === undefined) {
      throw new ChaperoneError('not_found', { detail: `There is no agent ${agentName}. Check the name.` })
    }
    return deps.actions.dryRun(agent.id, spec)
  }
}
