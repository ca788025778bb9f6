import {
  type Condition,
  type ConditionReason,
  type ConditionType,
  MAX_MESSAGE,
} from '../../core/crd/conditions.ts'

/** A condition without the time of its last transition. */
export type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/**
 * Creates a condition without the time of its last transition. The type `T` admits only the documented reasons of the
 * condition.
 */
export function verdict<T extends ConditionType>(
  type: T,
  status: Condition['status'],
  [reason, message]: readonly [ConditionReason<T>, string],
): Verdict {
  return { type, status, reason: reason as ConditionReason, message }
}

type Known = { readonly type: string; readonly status: string; readonly lastTransitionTime: string }

/**
 * Returns the conditions to write. `lastTransitionTime` changes with the status of a condition, not with its reason or
 * message.
 */
export function conditionsOf(
  verdicts: readonly Verdict[],
  known: readonly Known[],
  { generation, now }: { readonly generation: number; readonly now: string },
): Condition[] {
  return verdicts.map(({ type, status, reason, message }) => {
    const before = known.find((each) => each.type === type && each.status === status)
    const lastTransitionTime = before?.lastTransitionTime ?? now
    const text = message.slice(0, MAX_MESSAGE)
    return { type, status, reason, message: text, observedGeneration: generation, lastTransitionTime }
  })
}
