import type { Db } from '../../../db/query.ts'
import { type Outcome, outcomeOf, recordExecution } from './record.ts'
import { type Interrupted, takeInterrupted } from './store.ts'

/**
 * Age in seconds after which a running execution counts as interrupted. The age exceeds the time limit of an
 * execution order (32 s) plus the time limit for storing the outcome (60 s).
 */
const INTERRUPTED_AFTER_S = 100

const UNKNOWN: Outcome = {
  isDone: false,
  status: null,
  result: null,
  error:
    'the control plane stopped during the execution, so its result is unknown: check at the provider whether the action took effect',
  code: 'upstream_timeout',
}

/**
 * Ends executions whose replica crashed after the token was used and before the outcome was stored. Each execution is
 * ended once over all replicas. If a result reached another replica, this result becomes the outcome. Otherwise the
 * outcome is unknown, and the action is never executed again.
 */
export async function endInterrupted(db: Db, graceS = INTERRUPTED_AFTER_S): Promise<readonly Interrupted[]> {
  return db.tx(async (q) => {
    const interrupted = await takeInterrupted(q, graceS)
    for (const one of interrupted) {
      const { actId: id, orgId, agentId, actionType: type, result } = one
      const outcome = result === null ? UNKNOWN : outcomeOf(result)
      await recordExecution(q, { id, orgId, agentId, type }, { ...one, ...outcome })
    }
    return interrupted
  })
}
