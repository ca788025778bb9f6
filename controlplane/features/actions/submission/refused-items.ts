import { REFUSAL_LIMITS } from '../../../../core/state/refusal-limits.ts'
import type { RefusalTally } from '../../../../core/state/refusal-windows.ts'
import { refusalsText } from '../../../../core/state/refusals-text.ts'
import type { Db } from '../../../db/query.ts'
import { type AuditEvent, recordEvents } from '../../audit/events.ts'
import { type RefusedItemTally, takeRefusedItemTallies } from './refused-item-store.ts'

/**
 * Records one audit event for each agent and ended minute in which refused items of batches exceeded the limit. The
 * event counts these items in the format of the event of an aggregate record.
 */
export async function recordRefusedItems(db: Db, orgId: string): Promise<void> {
  await db.tx(async (q) => {
    const tallies = await takeRefusedItemTallies(q)
    if (tallies.length > 0)
      await recordEvents(
        q,
        tallies.map((tally) => eventOf(tally, orgId)),
      )
  })
}

function eventOf(tally: RefusedItemTally, orgId: string): AuditEvent {
  const { agentId, items: count, targets, firstAt, lastAt } = tally
  const refusals: Omit<RefusalTally, 'reasons' | 'actions'> = {
    count,
    first: firstAt.toISOString(),
    last: lastAt.toISOString(),
    distinct_targets: targets.length,
    more_targets: false,
    targets: targets.slice(0, REFUSAL_LIMITS.shownTargets),
  }
  return {
    orgId,
    type: 'action.denied',
    actor: { kind: 'agent', agentId, label: agentId },
    details: {
      decision: 'deny',
      reason: `${refusalsText(refusals)}: items of batches beyond the limit of refused items in a minute`,
      refusals,
      matched_policy: null,
      matched_rule: null,
      risk_score: null,
    },
  }
}
