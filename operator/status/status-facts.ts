import type { FieldBelowFloor } from '../../core/crd/floors.ts'
import type { OperatorState, PushReply } from '../../core/wire/operator.ts'
import type { Credential } from '../cluster/credentials.ts'
import type { PodCount } from '../cluster/governed-pods.ts'

/** Everything that a status is made of, besides the object itself. */
export type StatusFacts = {
  /** What the control plane said of this very generation; null = it was not told yet. */
  readonly reply: PushReply | null
  /** Why it could not be told; null when nothing is wrong. */
  readonly failure: string | null
  /** Of a Connector. */
  readonly credential: Credential | null
  /** Merged from all replicas of the control plane; null = none was asked yet. */
  readonly state: OperatorState | null
  /** For how long no replica has answered. */
  readonly staleMs: number
  /** Of a Gateway. */
  readonly pods: PodCount | null
  /** Of a Gateway: pods that should be governed by it and run without a sidecar, `namespace/name`. */
  readonly bypassing: readonly string[]
  /** Of a Gateway: its agents that pods of other Gateways are, too, each with whose. */
  readonly sharedAgents: readonly string[]
  /** Of a Gateway: its fields below a floor of the installation. */
  readonly belowFloor: readonly FieldBelowFloor[]
  /** RFC 3339. */
  readonly now: string
}

/** A control plane that is silent for so long makes what a status says old. */
export const STALE_AFTER_MS = 30_000
