import type { Db } from '../../db/query.ts'
import { type Outcome, outcomeOf, recordExecution } from './record.ts'
import { type Interrupted, takeInterrupted } from './store.ts'

/**
 * Age in seconds after which a running execution counts as interrupted. It is longer than the limit of an order (32 s)
 * plus that of storing its outcome (60 s).
 */
const INTERRUPTED_AFTER_S = 100

const UNKNOWN: Outcome = {
  isDone: false,
  status: null,
  result: null,
  error: 'the control plane stopped during the execution, so its result is unknown',
  code: 'upstream_timeout',
}

/**
 * Ends executions whose replica crashed between the use of the token and the outcome, each exactly once over all
 * replicas. A result that reached another replica becomes the outcome. Otherwise the outcome is unknown, and the
 * action is never executed again.
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
