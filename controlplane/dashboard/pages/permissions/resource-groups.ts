import type { EffectiveAction } from '../../../../core/wire/permissions.ts'
import type { ComparedAgent } from './use-compared.ts'

/** Actions of one resource, such as `codehost.pr`, with the number of actions for each decision. */
export type ResourceGroup = {
  readonly resource: string
  readonly actions: readonly EffectiveAction[]
  readonly counts: Readonly<Record<EffectiveAction['decision'], number>>
  /** Number of actions whose decision differs for a compared agent. */
  readonly differing: number
}

/** Groups actions by the first two segments of their names, in the order of their first action. */
export function resourceGroups(
  actions: readonly EffectiveAction[],
  compared: readonly ComparedAgent[],
): readonly ResourceGroup[] {
  const groups = Map.groupBy(actions, ({ type }) => type.split('.').slice(0, 2).join('.'))
  return [...groups].map(([resource, members]) => ({
    resource,
    actions: members,
    counts: {
      ALLOW: members.filter(({ decision }) => decision === 'ALLOW').length,
      HOLD: members.filter(({ decision }) => decision === 'HOLD').length,
      DENY: members.filter(({ decision }) => decision === 'DENY').length,
    },
    differing: members.filter(({ type, decision }) =>
      compared.some(({ byType }) => (byType.get(type)?.decision ?? decision) !== decision),
    ).length,
  }))
}
