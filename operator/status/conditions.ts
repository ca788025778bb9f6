import {
  type Condition,
  type ConditionReason,
  type ConditionType,
  LASTING_CONDITIONS,
  MAX_MESSAGE,
} from '../../core/crd/conditions.ts'

/** A condition as it should be; when it changed last is not its affair. */
export type Verdict = Pick<Condition, 'type' | 'status' | 'reason' | 'message'>

/** The reason must be one that is documented for the type. */
export function verdict<T extends ConditionType>(
  type: T,
  status: Condition['status'],
  [reason, message]: readonly [ConditionReason<T>, string],
): Verdict {
  return { type, status, reason: reason as ConditionReason, message }
}

type Known = { readonly type: string; readonly status: string; readonly lastTransitionTime: string }

/**
 * The conditions to write: the lasting ones always, the others only while they are true. A condition keeps the time of
 * its last change of status; reason and message may change without it.
 */
export function conditionsOf(
  verdicts: readonly Verdict[],
  known: readonly Known[],
  { generation, now }: { readonly generation: number; readonly now: string },
): Condition[] {
  const lasting: readonly string[] = LASTING_CONDITIONS
  return verdicts
    .filter(({ type, status }) => lasting.includes(type) || status === 'True')
    .map(({ type, status, reason, message }) => {
      const before = known.find((each) => each.type === type && each.status === status)
      const lastTransitionTime = before?.lastTransitionTime ?? now
      const text = message.slice(0, MAX_MESSAGE)
      return { type, status, reason, message: text, observedGeneration: generation, lastTransitionTime }
    })
}
