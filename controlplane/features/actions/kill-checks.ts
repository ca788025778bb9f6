import type { KnownAction } from '../../../core/action/spec.ts'
import type { KillEntry } from '../../../core/wire/gateway/kill.ts'
import { placeOf, stopOf } from './evaluation.ts'
import type { ActionRulesSource } from './rules.ts'
import type { ActionRow } from './store.ts'

/** Matches stored actions against kill switches. */
export type ActionStops = {
  /** Reports whether any kill switch is in force. Usually none is; callers then skip `of`. */
  isAnything(): boolean
  /** Returns the kill switch that covers the stored action, or null. `stops` defaults to the kill switches in force. */
  of(row: Pick<ActionRow, 'agentId' | 'agent' | 'spec'>, stops?: readonly KillEntry[]): KillEntry | null
}

export function createActionStops(deps: {
  readonly rules: ActionRulesSource
  readonly kills: () => readonly KillEntry[]
  readonly knownAction: (type: string) => KnownAction | null
}): ActionStops {
  const { rules, kills } = deps
  return {
    isAnything: () => kills().length > 0,
    of({ agentId, agent, spec }, stops = kills()) {
      const known = rules.current()
      const row = known.agent(agentId)
      const named = { id: agentId, name: row?.name ?? agent }
      if (row !== undefined) return stopOf(stops, named, placeOf(deps, known, row, spec))
      const action = { type: spec.type, connector: spec.type.split('.')[0] ?? spec.type }
      return stopOf(stops, named, { gateway: null, action })
    },
  }
}
