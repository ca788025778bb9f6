import { matchKill } from '../../../../core/decision/kill-switch/kill-switch.ts'
import type { Instance } from '../../../../core/wire/gateway/instance.ts'
import type { KillEntry } from '../../../../core/wire/gateway/kill.ts'
import { entriesFor } from '../../../sync/kill-switch/state.ts'

/** Agent, instance, connectors and gateway of a hold. The scopes of kill switches are matched against these names. */
export type HoldSubject = {
  readonly gateway: string
  readonly agent: string
  readonly agentId: string | null
  readonly instance: Instance | null
  /** The connector type, followed by the names of the Connectors that the request may be for. */
  readonly connectors: readonly string[]
}

/** Returns the kill switch that covers the hold, or null. */
export function killOfHold(kills: readonly KillEntry[], subject: HoldSubject): KillEntry | null {
  return matchKill(entriesFor(kills, subject.gateway), subject)
}
