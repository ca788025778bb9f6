import type { GoldenCase } from '../../core/connectors/golden.ts'

type Listed = {
  readonly type: string
  readonly target: string | null
  readonly effect: string
  readonly effects?: readonly string[]
}

/** Returns the several actions that a card, or the audit details of a record, lists in its parameters. */
export function listedActions(parameters: unknown): readonly Listed[] {
  const { actions } = parameters as { readonly actions: readonly Listed[] }
  return actions.map(({ type, target, effect, effects }) => ({
    ...{ type, target, effect },
    ...(effects === undefined ? {} : { effects }),
  }))
}

/** Returns the actions of a case with several ones, as a card and audit details list them. */
export function expectedActions({ expect: one }: GoldenCase): readonly unknown[] {
  const { actions = [], details = [], unanswered } = one
  const ofFirst = unanswered === undefined ? {} : { effects: unanswered }
  return actions.map((type, at) => ({ type, ...details[at], ...(at === 0 ? ofFirst : {}) }))
}
