import type { LogDecision } from '../../../core/decision/vocabulary.ts'
import { type Exposition, labelText } from './exposition.ts'
import { DECISION_LABEL } from './labels.ts'

/** Numbers of proxied actions by the decision on their request. */
export type ActionCounts = Record<LogDecision, number>

const DECISIONS = ['ALLOW', 'HOLD', 'DENY'] as const satisfies readonly LogDecision[]

export function newActionCounts(): ActionCounts {
  return { ALLOW: 0, HOLD: 0, DENY: 0 }
}

export function writeActions(
  out: Exposition,
  slots: ReadonlyArray<{ readonly labels: string; readonly actions: ActionCounts }>,
): void {
  const name = 'svc_request_actions_total'
  out.family(name, 'counter', 'Actions of proxied requests by agent, connector and decision.')
  for (const { labels, actions } of slots) {
    for (const decision of DECISIONS) {
      const own = labelText({ decision: DECISION_LABEL[decision] })
      if (actions[decision] > 0) out.sample(name, `${labels},${own}`, actions[decision])
    }
  }
}
