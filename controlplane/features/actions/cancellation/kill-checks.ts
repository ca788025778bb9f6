import type { KnownAction } from '../../../../core/action/spec.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import type { ActionRow } from '../rows.ts'
import type { ActionRulesSource } from '../rules.ts'
import { killOf, placeOf } from '../submission/evaluation.ts'

/** Matches stored actions against kill switches. */
export type ActionKillChecks = {
  /** Reports whether any kill switch is in force. When none is in force, callers need not call `of`. */
  isAnything(): boolean
  /**
   * Returns the kill switch that covers the stored action, or null. `inForce` defaults to all kill switches in force.
   */
  of(row: Pick<ActionRow, 'agentId' | 'agent' | 'spec'>, inForce?: readonly KillEntry[]): KillEntry | null
}

export function createActionKillChecks(deps: {
  readonly rules: ActionRulesSource
  readonly kills: () => readonly KillEntry[]
  readonly knownAction: (type: string) => KnownAction | null
}): ActionKillChecks {
  const { rules, kills } = deps
  return {
    isAnything: () => kills().length > 0,
    of({ agentId, agent, spec }, inForce = kills()) {
      const known = rules.current()
      const row = known.agent(agentId)
      const named = { id: agentId, name: row?.name ?? agent }
      if (row !== undefined) return killOf(inForce, named, placeOf(deps, known, row, spec))
      const action = { type: spec.type, connector: spec.type.split('.')[0] ?? spec.type }
      return killOf(inForce, named, { gateway: null, action })
    },
  }
}
